package session

import "sync"

// mailbox hands functions to the loop without ever blocking the sender.
type mailbox struct {
	notify chan struct{}

	mu    sync.Mutex
	items []func()
}

func (m *mailbox) post(f func()) {
	m.mu.Lock()
	m.items = append(m.items, f)
	m.mu.Unlock()
	select {
	case m.notify <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}
