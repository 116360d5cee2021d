package report

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lightsout/internal/record"
	"lightsout/internal/view"

	"lightsout/internal/text"
)

// page is what Markdown and HTML have in common: everything but the picture.
// Its texts are clean and not yet escaped.
type page struct {
	Title, About string
	// Verdict is the word, with its tone; Why are its reasons.
	Verdict cell
	Why     []string
	// Opening are the sentences that the report begins with.
	Opening []string
	// Loud is what must be read first.
	Loud []cell
	// Facts are the tables of the outages, before the picture; Sections are those after it.
	Facts, Sections []section
	about           section // names and values: the cluster, the times
}

// All are the sections of a format without a picture.
func (p *page) All() []section { return slices.Concat(p.Facts, p.Sections) }

func itoa(n int) string { return strconv.Itoa(n) }

var verdicts = map[view.Verdict]cell{
	view.Pass: {"PASS", good}, view.Fail: {"FAIL", bad}, view.NotObserved: {"NOT OBSERVED", warning},
	view.NoExpectations: {"NO EXPECTATIONS", plain}, view.Aborted: {"ABORTED", warning}, "": {"NEVER JUDGED", warning},
}

// verdictOf is the verdict's word in capitals, with its tone.
func verdictOf(v view.Verdict) cell { return cmp.Or(verdicts[v], verdicts[""]) }

func pageOf(r *record.Record) *page {
	all := factsOf(r)
	c := causesOf(r, all)
	p := &page{Opening: opening(r, c), about: section{ID: "about", Title: "About this record"}.columns("fact", "value")}
	if s := r.Summary; s != nil {
		p.fromSummary(r, all)
		p.Title = titleOf(c)
	} else {
		p.fromTorn(c)
	}
	p.fact("record", filepath.Base(r.Dir)) // without the path: it may name an account, and a record may move
	p.fact("play it", "lightsout replay . (in the folder of this report)")
	p.Loud = append(p.Loud, text.Each(r.Torn, func(t string) cell { return cell{clean(t), warning} })...)
	p.Facts = settled([]section{nodesTable(r, all), podsTable(r, all)})
	shorter := []section{kubernetesOf(r, c)}
	for i := range all[:min(len(all), outagesMost)] {
		shorter = append(shorter, shorterOf(r, c.in(i), i))
	}
	p.Sections = settled(slices.Concat(shorter, []section{p.about}, p.Sections, []section{timelineOf(r)}))
	return p
}

// titleOf is the name of a trial, or what an outage was of and when.
func titleOf(c *causes) string {
	r, of := c.r, few(text.Each(nodesIn(c.all), func(n NodeFacts) string { return clean(n.Node) }), "more nodes")
	if summaryOf(r).Unplanned == nil && !r.Unplanned() {
		return cmp.Or(clean(summaryOf(r).Name), "trial")
	}
	if slices.ContainsFunc(SignsIn(r), func(e view.Event) bool { return e.Sign == view.SignAPI }) {
		first := slices.ContainsFunc(c.all, func(f Facts) bool { return c.unreached(&f) })
		of = slices.Insert(of, map[bool]int{false: len(of)}[first], "the API server")
	}
	return "outage" + strings.TrimSuffix(" of "+text.List(of), " of ") + ", " + base(r).UTC().Format("2 January 2006 15:04 UTC")
}

func (p *page) fromSummary(r *record.Record, all []Facts) {
	s := r.Summary
	p.About = clean(s.About)
	p.Verdict = judged(s)
	p.Why = reasonsFor(s)[map[bool]int{true: min(len(s.Why), 1)}[s.Verdict == view.Aborted]:] // the opening has the first
	p.Loud = append(p.Loud, loud(s)...)
	for _, f := range [][2]string{{"cluster", s.Cluster}, {"API server", s.Server}, {"deployment", s.Deployment}} {
		if f[1] != "" {
			p.fact(f[0], f[1])
		}
	}
	began := "began"
	if s.Unplanned != nil {
		began = "noticed"
		p.Why = slices.Insert(p.Why, 0, p.Verdict.Text+", because "+cmp.Or(severityOf(s.Unplanned).means, clean(s.Unplanned.Why)+": what clients noticed is unknown"))
		for _, f := range all {
			i := slices.IndexFunc(f.Workloads, func(w Workload) bool {
				return w.none >= time.Second && w.Key != r.Deployment() && !w.Hidden && !w.already()
			})
			if i >= 0 {
				w := &f.Workloads[i]
				p.Verdict = cell{p.Verdict.Text + "; " + clean(w.Key.String()) + " had no pod for " + lasted(w.least(), w.none.Seconds()), map[bool]tone{true: bad, false: warning}[p.Verdict.Tone == bad]}
			}
		}
	}
	p.fact(began, utc(s.Started))
	p.zero(r, s.Zero)
	p.fact("the record ended", utc(s.Ended))
	p.Sections = []section{phasesOf(r, nodesIn(all)), loadOf(s), answersOf(r), {ID: "ledger", Title: "Ledger", Lead: []cell{equation(s.Ledger)}}, blindOf(s), forecastOf(s), settingsOf(s)}
	if s.Unplanned != nil {
		p.Sections = slices.Insert(p.Sections, 0, signsOf(r))
	} else {
		p.Sections = append(slices.Insert(p.Sections, 0, expectationsOf(s)), skewOf(s), stepsOf(r))
	}
}

// reasonsFor are the reasons for a verdict.
func reasonsFor(s *record.Summary) (why []string) {
	why = map[view.Verdict][]string{view.Pass: {"PASS, because all expectations of the plan were met"}}[s.Verdict]
	if s.Verdict == view.NotObserved {
		why = append(why, view.NoVerdict(s.Why, s.Expectations))
	}
	return append(why, text.Each(s.Why, clean)...)
}

// loud is what must be read before anything else in a summary.
func loud(s *record.Summary) []cell {
	var out []cell
	restore := cmp.Or(s.Restore, "lightsout restore, with the --config and --state of the trial (machines of a demo ended with it)")
	if len(s.LeftOff) > 0 {
		out = append(out, cell{clean("STILL OFF: " + text.List(s.LeftOff) + ". Power on with: " + restore), bad})
	}
	if len(s.MayGoOff) > 0 {
		out = append(out, cell{clean("These machines were on, but may still go off by lightsout's last request: " + text.List(s.MayGoOff) + ". Check them with: " + restore), bad})
	}
	if !s.Ledger.Balanced || !s.Ledger.Adds() {
		out = append(out, cell{"The ledger does not balance: not every request is accounted for.", bad})
	}
	if s.Pace == "fast" {
		out = append(out, cell{"Fast pace: the lab shortens Kubernetes' timings. A real cluster takes longer.", warning})
	}
	return out
}

// fromTorn tells what can be told without a summary.
func (p *page) fromTorn(c *causes) {
	r, all := c.r, c.all
	p.Title, p.Verdict = clean(filepath.Base(r.Dir)), verdictOf("")
	if r.Unplanned() {
		p.Title, p.Verdict = titleOf(c), cell{"BREAKS OFF", warning}
	}
	if r.Recording {
		p.Verdict = cell{"RECORDING", warning}
	}
	var off []string
	for _, n := range all[len(all)-1].Nodes {
		if n.Off() && n.asked() { // of others, lightsout restore knows nothing
			off = append(off, n.Node)
		}
	}
	if len(off) > 0 {
		p.Loud = append(p.Loud, cell{clean("OFF when the record ends: " + text.List(off) + ". On the host where it ran, with the same --config and --state, lightsout restore lists the machines that are still off, and powers them on."), bad})
	}
	if len(r.Torn) == 0 {
		p.Why = append(p.Why, "The program ended before the trial was judged: there is no "+record.SummaryFile+".")
	}
	p.Why = append(p.Why, "This report shows the events and requests on disk, up to the last one.")
	p.fact("record begins", utc(r.Start))
	p.zero(r, r.Zero)
	p.fact("record ends", utc(r.End))
	p.Sections = append(p.Sections, answersOf(r))
}

func (p *page) fact(name, value string) { p.about.row(name, value) }

func (p *page) zero(r *record.Record, at time.Time) {
	if at.IsZero() {
		p.fact("zero", "none: there was no power-off request, so T counts from the start")
		return
	}
	p.fact("zero (T), "+zeroOf(r), utc(at))
}
