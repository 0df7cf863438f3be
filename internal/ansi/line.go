package ansi

import "unicode/utf8"

// AppendLine appends row y of a frame as text, without trailing blanks and
// without a line end. At LevelNone there are no escape sequences at all;
// otherwise styles are sent with the colours reduced to the level, and the line
// ends in the default style.
func AppendLine(dst []byte, f *Frame, y int, level Level) []byte {
	if y < 0 || y >= f.h {
		return dst
	}
	row := f.row(y)
	end := len(row)
	for end > 0 {
		c := row[end-1]
		if level == LevelNone {
			c.bg, c.fg, c.attr = 0, 0, 0
		}
		if c != blank {
			break
		}
		end--
	}
	var pen Style
	for i := range row[:end] {
		c := &row[i]
		if c.w == 0 {
			continue
		}
		if level != LevelNone {
			st := Style{level.Reduce(c.fg), level.Reduce(c.bg), c.attr}
			if c.r == ' ' && c.attr&onBlank == 0 {
				st.Fg, st.Attr = pen.Fg, pen.Attr&^onBlank
				if st.Bg == 0 && st != pen {
					st = Style{}
				}
			}
			dst = appendSGR(dst, pen, st)
			pen = st
		}
		dst = utf8.AppendRune(dst, c.r)
		if c.marks != 0 {
			dst = append(dst, markTable.text(c.marks)...)
		}
	}
	return appendSGR(dst, pen, Style{})
}
