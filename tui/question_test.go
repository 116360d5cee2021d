package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"lightsout/internal/view"
)

// settleKeys lets the grace of a question pass.
func settleKeys(m *Model, now *time.Time) {
	m.View()
	*now = now.Add(graceFor)
}

func TestQuestionIgnoresKeysTypedBeforeItWasSeen(t *testing.T) {
	m, sent, now := testModel(asked(), 80, 24, Options{})
	m.Update(keyMsg("right"))
	m.Update(keyMsg("enter")) // not drawn yet
	m.View()
	for range 3 { // typed on without looking
		*now = now.Add(graceFor / 4)
		typeKeys(m, "right enter")
	}
	if v := plainView(m); len(*sent) > 0 || !strings.Contains(v, "that key came too early: press it again") {
		t.Fatalf("an absorbed key sent %#v, or nothing says that it is absorbed:\n%s", *sent, v)
	}
	*now = now.Add(graceFor)
	typeKeys(m, "enter")
	wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "no"})
}

// A question that opens by itself takes no key at first, and none from the operator who types a command, a filter
// or a text to search for: it waits until that is done.
func TestAQuestionThatOpensByItselfTakesNoKeyMeantForSomethingElse(t *testing.T) {
	m, sent, now := testModel(calm(), 80, 24, Options{})
	m.Update(FrameMsg{asked()})
	m.View()
	*now = now.Add(graceFor - time.Millisecond)
	if typeKeys(m, "right enter"); len(*sent) > 0 {
		t.Fatalf("a key that comes too early answers: %#v", (*sent)[0])
	}
	for open, done := range map[string]string{": p o": "enter", "/ w e": "enter", "? / o": "esc"} {
		m, sent, now := testModel(calm(), 80, 24, Options{})
		typeKeys(m, open)
		*sent = nil
		m.Update(FrameMsg{asked()})
		m.View()
		*now = now.Add(graceFor)
		typeKeys(m, "x backspace")
		if v := plainView(m); m.dialogs.top() == m.dialogs.asked || !strings.Contains(v, "asked once this is closed: Shut down kube-node3") {
			t.Errorf("%s: the question takes the keys, or nothing says that it waits:\n%s", open, v)
		}
		*now = now.Add(graceFor)
		typeKeys(m, done+" right enter")
		if len(*sent) > 0 || m.dialogs.top() != m.dialogs.asked {
			t.Errorf("%s: the question is not asked after that, or takes the keys at once: %#v", open, *sent)
		}
		settleKeys(m, now)
		typeKeys(m, "right enter")
		wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "yes"})
	}
}

// A terminal that is too small for the screen hides the question.
func TestAQuestionThatIsNotOnTheScreenTakesNoAnswer(t *testing.T) {
	m, sent, now := testModel(asked(), 80, 24, Options{})
	settleKeys(m, now)
	m.Update(tea.WindowSizeMsg{Width: 20, Height: 5})
	for range 5 {
		*now = now.Add(graceFor)
		typeKeys(m, "right enter")
	}
	if len(*sent) > 0 {
		t.Fatalf("the screen answers an invisible question: %#v", (*sent)[0])
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	settleKeys(m, now)
	typeKeys(m, "right enter")
	wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "yes"})
}

func TestTheSafeChoiceIsTheDefaultAndEscTakesIt(t *testing.T) {
	for _, keys := range []string{"enter", "esc", "right esc", "right left enter", "l s enter"} {
		m, sent, now := testModel(asked(), 80, 24, Options{})
		settleKeys(m, now)
		typeKeys(m, keys)
		wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "no"})
	}
}

// A question about what does no harm begins with yes, which enter takes once each machine was readable; esc is still no.
func TestAQuestionBeginsWithItsDefault(t *testing.T) {
	for _, tt := range []struct {
		machines, h int
		keys, want  string
	}{{1, 24, "enter", "yes"}, {1, 24, "esc", "no"}, {1, 24, "left enter", "no"}, {30, 24, "left enter", "no"}, {30, 24, "enter enter", "yes"}} {
		f := aboutMachines(tt.machines)
		f.Question.Default = view.ChoiceYes
		m, sent, now := testModel(f, 80, tt.h, Options{})
		settleKeys(m, now)
		for _, k := range strings.Fields(tt.keys) {
			typeKeys(m, k)
			m.View()
		}
		wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: tt.want})
	}
}

func TestAnsweredQuestionIsNotShownAgain(t *testing.T) {
	f := asked()
	m, sent, now := testModel(f, 80, 24, Options{})
	settleKeys(m, now)
	typeKeys(m, "right enter")
	wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "yes"})
	again := *f
	m.Update(FrameMsg{&again})
	if m.dialogs.top() != nil {
		t.Error("the question is back")
	}
	next := *f
	q := *f.Question
	q.ID = "switch-2"
	next.Question = &q
	m.Update(FrameMsg{&next})
	if m.dialogs.top() == nil {
		t.Error("another question is not shown")
	}
	m.Update(FrameMsg{calm()})
	if m.dialogs.top() != nil {
		t.Error("a question that is withdrawn stays")
	}
}

func TestTypedOverrideOpensTheOtherChoice(t *testing.T) {
	f := asked()
	f.Question.Type = "mdx"
	m, sent, now := testModel(f, 80, 24, Options{})
	settleKeys(m, now)
	typeKeys(m, "m d tab enter")
	wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "no"})

	m, sent, now = testModel(f, 80, 24, Options{})
	settleKeys(m, now)
	typeKeys(m, "m d x enter")
	wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "yes", Typed: "mdx"})
}

func TestSecretIsNeverOnTheScreen(t *testing.T) {
	f := calm()
	f.Question = &view.Question{ID: "key", Kind: "secret", Title: "Passphrase of id_ed25519", Secret: true,
		Choices: []view.Choice{{ID: "no", Label: "Without it"}, {ID: "yes", Label: "Use it"}}}
	m, sent, now := testModel(f, 80, 24, Options{})
	settleKeys(m, now)
	typeKeys(m, "h u n")
	m.Update(tea.PasteMsg{Content: "ter 2\n"})
	if v := plainView(m); strings.Contains(v, "hun") || !strings.Contains(v, "********") {
		t.Errorf("the secret is shown, or that it is typed is not:\n%s", v)
	}
	typeKeys(m, "enter")
	wantIntent(t, sent, view.Answer{Question: "key", Choice: "yes", Typed: "hunter 2"})
}

func TestRefusalCanOnlyBeClosed(t *testing.T) {
	f := asked()
	f.Question.Refused = true
	f.Question.Choices = []view.Choice{{ID: "close", Label: "Close"}, {ID: "yes", Label: "Do it"}}
	m, sent, now := testModel(f, 80, 24, Options{})
	settleKeys(m, now)
	if v := plainView(m); strings.Contains(v, "Do it") {
		t.Errorf("a refusal offers more than closing:\n%s", v)
	}
	typeKeys(m, "right tab enter")
	wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "close"})
}

func TestLongQuestionScrollsAndKeepsItsChoices(t *testing.T) {
	f := asked()
	for range 60 {
		f.Question.Lines = append(f.Question.Lines, view.Line{Text: "one more pod that is hit"})
	}
	f.Question.Lines = append(f.Question.Lines, view.Line{Text: "the very last line"})
	m, _, now := testModel(f, 80, 24, Options{})
	settleKeys(m, now)
	if v := plainView(m); !strings.Contains(v, "[ Leave them on ]") || strings.Contains(v, "the very last line") {
		t.Errorf("choices are not visible:\n%s", v)
	}
	for range 80 {
		typeKeys(m, "down")
	}
	if v := plainView(m); !strings.Contains(v, "the very last line") {
		t.Errorf("the end can't be scrolled to:\n%s", v)
	}
}

func TestAPictureIsKeptWhileAQuestionIsOpen(t *testing.T) {
	m, sent, now := testModel(asked(), 80, 24, Options{})
	settleKeys(m, now)
	typeKeys(m, "P")
	wantIntent(t, sent, view.SaveScreen{})
	if m.dialogs.top() == nil {
		t.Error("the question is gone")
	}

	f := asked()
	f.Question.Type = "Prod"
	m, sent, now = testModel(f, 80, 24, Options{})
	settleKeys(m, now)
	typeKeys(m, "P")
	if len(*sent) > 0 || m.dialogs.top().(*questionDialog).in.String() != "P" {
		t.Errorf("what is typed for an answer sends %v", *sent)
	}
}

// aboutMachines asks about switching n machines.
func aboutMachines(n int) *view.Frame {
	f := calm()
	q := &view.Question{ID: "switch-1", Kind: view.QuestionSwitch, Title: fmt.Sprintf("Shut down %d nodes?", n),
		Choices: []view.Choice{{ID: "no", Label: "Leave them on"}, {ID: "yes", Label: fmt.Sprintf("Shut down %d nodes", n)}}}
	for i := range n {
		q.Lines = append(q.Lines, view.Line{Subject: true, Text: fmt.Sprintf("kube-node%d  off: mdx (soft shutdown) vm-%d · on: mdx", i+1, i+1)})
	}
	q.Lines = append(q.Lines, view.Line{Heading: true, Text: "What goes down:"}, view.Line{Text: "8 pods of 1 deployment"}, view.Line{Text: "the very last line"})
	f.Question = q
	return f
}

// A small screen has no room for all machines: nobody agrees before each was readable.
func TestNoAnswerBeforeEachMachineWasReadable(t *testing.T) {
	for _, small := range []size{{40, 10}, {60, 12}, {80, 24}} {
		for _, n := range []int{1, 2, 4, 9} {
			for _, typed := range []string{"", "mdx"} {
				f := aboutMachines(n)
				f.Question.Type = typed
				m, sent, now := testModel(f, small.w, small.h, Options{})
				settleKeys(m, now)
				*now = now.Add(graceFor)
				for _, c := range typed {
					typeKeys(m, string(c))
				}
				shown := map[int]bool{}
				see := func() bool {
					v := plainView(m)
					if !strings.Contains(v, "Leave them on") {
						t.Fatalf("%v, %d machines: the buttons are not there:\n%s", small, n, v)
					}
					for i := range n {
						if strings.Contains(v, fmt.Sprintf("kube-node%d off", i+1)) {
							shown[i] = true
						}
					}
					return len(shown) == n
				}
				if typed == "" {
					typeKeys(m, "right")
				}
				for tries := 0; len(*sent) == 0 && tries < 100; tries++ {
					if v := plainView(m); !see() && small.w > 40 && !strings.Contains(v, "enter reads on: ") {
						t.Fatalf("%v, %d machines: nothing says that enter reads on:\n%s", small, n, v)
					}
					typeKeys(m, "enter")
				}
				if len(shown) < n {
					t.Errorf("%v, %d machines: answered with only %d readable", small, n, len(shown))
				}
				wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "yes", Typed: typed})
			}
		}
	}
	m, sent, now := testModel(aboutMachines(4), 40, 10, Options{})
	settleKeys(m, now)
	typeKeys(m, "enter")
	wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "no"})
}

// The same keys end at the same answer on each terminal, whatever is read meanwhile.
func TestTheSameKeysChooseTheSameAnswerAtEverySize(t *testing.T) {
	for _, small := range []size{{44, 10}, {60, 15}, {80, 24}, {120, 36}} {
		for _, n := range []int{1, 3, 30} {
			for keys, want := range map[string]string{"right": "yes", "right right": "drain", "tab tab": "drain", "right down space right": "drain", "right right left": "yes", "tab tab tab": "no"} {
				f := aboutMachines(n)
				f.Question.Choices = append(f.Question.Choices, view.Choice{ID: "drain", Label: "Drain, then shut down"})
				m, sent, now := testModel(f, small.w, small.h, Options{})
				settleKeys(m, now)
				typeKeys(m, keys)
				for tries := 0; len(*sent) == 0 && tries < 40; tries++ {
					m.View()
					typeKeys(m, "enter")
				}
				wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: want})
			}
		}
	}
}

// TestNoButtonIsCut: the choices at the end of a trial are the longest.
func TestNoButtonIsCut(t *testing.T) {
	ending := calm()
	ending.Question = &view.Question{ID: "end-1", Kind: view.QuestionTrial, Title: "End the trial by-keyboard?", Lines: []view.Line{{Text: "Still off: kube-node4"}},
		Choices: []view.Choice{{ID: "no", Label: "Go on"}, {ID: "end-on", Label: "Power on, then give the verdict"}, {ID: "end", Label: "Give the verdict, leave them off"}, {ID: "abort", Label: "Abort"}}}
	many := calm()
	many.Question = &view.Question{ID: "trial-1", Kind: view.QuestionTrial, Title: "Start a trial?", Lines: []view.Line{{Text: "a plan"}}}
	for i := range 20 {
		many.Question.Choices = append(many.Question.Choices, view.Choice{ID: fmt.Sprint(i), Label: fmt.Sprintf("a-plan-of-number-%02d", i)})
	}
	for what, f := range map[string]*view.Frame{"the end of a trial": ending, "many plans": many, "machines": aboutMachines(4)} {
		for _, screen := range []size{{80, 24}, {120, 36}, {60, 15}, {44, 10}} {
			for i, c := range f.Question.Choices {
				m, sent, now := testModel(f, screen.w, screen.h, Options{})
				settleKeys(m, now)
				*now = now.Add(graceFor)
				for tries := 0; !strings.Contains(plainView(m), "[ "+c.Label+" ]"); tries++ {
					if tries > 40 {
						t.Fatalf("%s, %v: %q is not readable:\n%s", what, screen, c.Label, plainView(m))
					}
					typeKeys(m, "right")
				}
				if v := plainView(m); what != "many plans" && screen.w >= 80 {
					for _, c := range f.Question.Choices {
						if !strings.Contains(v, c.Label) {
							t.Errorf("%s, %v: %q is cut:\n%s", what, screen, c.Label, v)
						}
					}
				}
				for tries := 0; len(*sent) == 0 && tries < 9; tries++ {
					typeKeys(m, "enter")
					m.View()
				}
				wantIntent(t, sent, view.Answer{Question: f.Question.ID, Choice: f.Question.Choices[i].ID})
			}
		}
	}
}

// Of a question that changes, the new machines must be readable too.
func TestAChangedQuestionIsReadAgain(t *testing.T) {
	m, sent, now := testModel(aboutMachines(1), 40, 10, Options{})
	settleKeys(m, now)
	*now = now.Add(graceFor)
	typeKeys(m, "right")
	m.Update(FrameMsg{Frame: aboutMachines(4)})
	typeKeys(m, "enter")
	wantIntent(t, sent, view.Answer{Question: "switch-1", Choice: "no"})
}

// A dialog has few names in a line, and few lines of a kind in a row; printed questions have all.
func TestADialogNamesFewOfManyThings(t *testing.T) {
	q := &view.Question{Lines: []view.Line{{Text: "a, b, c, d, e", Short: "a, b, 3 more"}}}
	for _, of := range []string{"", "deployments"} {
		for i := range 11 {
			q.Lines = append(q.Lines, view.Line{Level: view.Warning, Text: fmt.Sprint(of, i), Of: of})
		}
	}
	got := (&questionDialog{q: q}).lines()
	if last := got[len(got)-1]; len(got) != 1+11+9 || got[0].Text != "a, b, 3 more" || got[19].Text != "deployments7" || last.Text != "and 3 more deployments" || last.Level != view.Warning {
		t.Errorf("%d lines: %+v", len(got), got)
	}
}
