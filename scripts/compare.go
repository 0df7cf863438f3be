package main

import (
	"errors"
	"fmt"
)

// compare checks that b has the layouts, values and prototypes of a. The one
// difference allowed is the size of a member of C type unsigned long inside a
// union whose size does not depend on it: Go reads that member through a
// method returning Ulong.
func compare(a, b *Model) error {
	c := comparer{a: a, b: b}
	c.lists()
	if c.errs == nil {
		c.values()
	}
	return errors.Join(c.errs...)
}

type comparer struct {
	a, b *Model
	errs []error
}

func (c *comparer) differ(decl, what string, x, y any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %s differs between targets: %v on %s, %v on %s",
		decl, what, x, c.a.Target, y, c.b.Target))
}

// lists checks that both models hold the same declarations.
func (c *comparer) lists() {
	names := func(m *Model) []string {
		var s []string
		for _, o := range m.order {
			switch o := o.(type) {
			case *Enum:
				s = append(s, "enum "+o.CName)
			case *Scalar:
				s = append(s, "scalar "+o.CName)
			case *Handle:
				s = append(s, "handle "+o.CName)
			case *Record:
				s = append(s, "record "+o.CName)
			case *Alias:
				s = append(s, "alias "+o.CName+" of "+o.Target)
			}
		}
		for _, f := range m.Funcs {
			s = append(s, "function "+f.CName)
		}
		for _, x := range m.Macros {
			s = append(s, "macro "+x.CName)
		}
		for _, x := range m.Words {
			s = append(s, "version word "+x.CName)
		}
		return s
	}
	x, y := names(c.a), names(c.b)
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x):
			c.differ(y[i], "presence", "absent", "present")
			return
		case i >= len(y):
			c.differ(x[i], "presence", "present", "absent")
			return
		case x[i] != y[i]:
			c.differ(x[i], "the declaration in this place", x[i], y[i])
			return
		}
	}
}

func (c *comparer) values() {
	for i, e := range c.a.Enums {
		f := c.b.Enums[i]
		if len(e.Enumerators) != len(f.Enumerators) {
			c.differ(e.CName, "number of enumerators", len(e.Enumerators), len(f.Enumerators))
			continue
		}
		for j, x := range e.Enumerators {
			if y := f.Enumerators[j]; x != y {
				c.differ(e.CName, "enumerator "+x.Name, x.Value, y.Value)
			}
		}
	}
	for i, s := range c.a.Scalars {
		if t := c.b.Scalars[i]; s.Kind != t.Kind {
			c.differ(s.CName, "type", cKinds[s.Kind], cKinds[t.Kind])
		}
	}
	for i, r := range c.a.Records {
		c.record(r, c.b.Records[i])
	}
	for _, p := range [][2][]*Macro{{c.a.Macros, c.b.Macros}, {c.a.Words, c.b.Words}} {
		for i, m := range p[0] {
			if n := p[1][i]; m.Value != n.Value || m.Hi != n.Hi || m.Lo != n.Lo {
				c.differ(m.CName, "value", m.Value, n.Value)
			}
		}
	}
	for i, f := range c.a.Funcs {
		g := c.b.Funcs[i]
		if len(f.Params) != len(g.Params) {
			c.differ(f.CName, "number of parameters", len(f.Params), len(g.Params))
			continue
		}
		for j, p := range f.Params {
			// A pointer to unsigned long is the one thing that may vary: Ulong is a type per system.
			q := g.Params[j]
			if p.Type.Kind == Pointer && p.Type.Elem.Kind == ULong && q.Type.Kind == Pointer && q.Type.Elem.Kind == ULong {
				continue
			}
			if p.Type.Kind == Pointer && (p.Type.Elem.Kind == Long || q.Type.Elem.Kind == Long) {
				c.differ(f.CName+": parameter "+p.Name, "type", "pointer to long", "pointer to long")
				continue
			}
			c.typ(f.CName+": parameter "+p.Name, p.Type, q.Type)
		}
	}
}

func (c *comparer) record(r, s *Record) {
	if r.Size != s.Size {
		c.differ(r.Path, "size", r.Size, s.Size)
	}
	if r.Align != s.Align {
		c.differ(r.Path, "alignment", r.Align, s.Align)
	}
	if len(r.Fields) != len(s.Fields) {
		c.differ(r.Path, "number of members", len(r.Fields), len(s.Fields))
		return
	}
	for i, f := range r.Fields {
		g := s.Fields[i]
		path := r.Path + "." + f.Name
		if f.Name != g.Name {
			c.differ(path, "name", f.Name, g.Name)
		}
		if f.Offset != g.Offset {
			c.differ(path, "offset", f.Offset, g.Offset)
		}
		if scalarUnion(r) && f.Type.Kind == ULong && g.Type.Kind == ULong {
			continue
		}
		c.typ(path, f.Type, g.Type)
	}
}

func (c *comparer) typ(path string, t, u *Type) {
	switch {
	case t.Kind != u.Kind:
		c.differ(path, "type", t.Kind, u.Kind)
		return
	case t.CName != u.CName:
		c.differ(path, "type", t.CName, u.CName)
	case t.Size != u.Size && t.Kind != Void:
		c.differ(path, "size", t.Size, u.Size)
	case t.Align != u.Align && t.Kind != Void:
		c.differ(path, "alignment", t.Align, u.Align)
	case t.Len != u.Len:
		c.differ(path, "length", t.Len, u.Len)
	case t.Const != u.Const:
		c.differ(path, "const", t.Const, u.Const)
	}
	switch t.Kind {
	case Pointer, Array:
		c.typ(path, t.Elem, u.Elem)
	case RecordRef:
		if t.CName == "" {
			c.record(t.Record, u.Record)
		}
	}
}

// scalarUnion tells whether r is a union of arithmetic members that one 8-byte
// word holds.
func scalarUnion(r *Record) bool {
	if !r.Union || r.Size != 8 || r.Align != 8 {
		return false
	}
	for _, f := range r.Fields {
		if k := f.Type.Kind; k < Char || k > Double {
			return false
		}
	}
	return true
}
