package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// No header of an if or a switch changes state: it may only assign to a variable, where
// a reader expects that.
func TestNoConditionHidesAChangeOfState(t *testing.T) {
	set := token.NewFileSet()
	eachGoFile(t, set, parser.SkipObjectResolution, func(_ string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			var init ast.Stmt
			switch n := n.(type) {
			case *ast.IfStmt:
				init = n.Init
			case *ast.SwitchStmt:
				init = n.Init
			}
			if changesState(init) {
				t.Errorf("%s: put the assignment on a line of its own", set.Position(init.Pos()))
			}
			return true
		})
	})
}

// changesState reports an assignment to anything but a variable.
func changesState(s ast.Stmt) bool {
	var to []ast.Expr
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			to = s.Lhs
		}
	case *ast.IncDecStmt:
		to = []ast.Expr{s.X}
	}
	for _, e := range to {
		if _, variable := e.(*ast.Ident); !variable {
			return true
		}
	}
	return false
}
