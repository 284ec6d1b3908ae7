"""The picture of the bench report: a bar a row, from 1 to the ratio, on a logarithmic scale."""
import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP, ROW = 1000, 430, 70, 84, 20
AHEAD, BEHIND, BOUND, GRID, INK, GREY = "#0b7285", "#e8590c", "#868e96", "#dee2e6", "#212529", "#495057"


def figure(value, digits=3):
    """Rounded to so many digits, without an exponent: '2110', not '2.11e+03'."""
    rounded = "%.*g" % (digits, value)
    return rounded if "e+" not in rounded else "%d" % float(rounded)


def text(x, y, words, size=12, anchor="start", colour=INK, weight="normal"):
    return ('<text x="%.0f" y="%.0f" font-size="%d" text-anchor="%s" fill="%s" font-weight="%s">%s</text>'
            % (x, y, size, anchor, colour, weight, escape(words)))


def shorten(words, n):
    return words if len(words) <= n else words[:n - 1] + "…"


def draw(rows, date):
    """rows: [(what, peer, ratio, is the peer a bound)]; an SVG."""
    exponents = [math.log10(ratio) for _, _, ratio, _ in rows] or [0]
    low, high = math.floor(min(exponents + [-1])), math.ceil(max(exponents + [1]))
    height = TOP + ROW * len(rows) + 40

    def x(exponent):
        return LEFT + (exponent - low) * (WIDTH - LEFT - RIGHT) / (high - low)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif">'
           % (WIDTH, height, WIDTH, height), '<rect width="%d" height="%d" fill="#ffffff"/>' % (WIDTH, height),
           text(12, 26, "tidbnumad beside what users have: its figure divided by the peer's, %s" % date, 16, weight="bold")]
    for place, colour, words in ((12, AHEAD, "less than the peer"), (172, BEHIND, "more than the peer"),
                                 (332, BOUND, "the peer is a lower bound")):
        out.append('<rect x="%d" y="40" width="12" height="12" rx="2" fill="%s"/>' % (place, colour))
        out.append(text(place + 18, 51, words, 12, colour=GREY))
    for exponent in range(low, high + 1):
        out.append('<line x1="%.0f" y1="%d" x2="%.0f" y2="%d" stroke="%s" stroke-width="%d"/>' % (
            x(exponent), TOP - 8, x(exponent), height - 34, INK if exponent == 0 else GRID, 1))
        out.append(text(x(exponent), TOP - 12, "%g" % 10 ** exponent, 11, "middle", GREY))
    for number, (what, peer, ratio, bound) in enumerate(rows):
        y, end = TOP + number * ROW, x(math.log10(ratio))
        colour = BOUND if bound else BEHIND if ratio >= 1 else AHEAD
        out.append(text(LEFT - 10, y + 12, shorten("%s / %s" % (what, peer), 74), 11, "end"))
        out.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" rx="2" fill="%s"/>' % (
            min(end, x(0)), y + 1, max(1, abs(end - x(0))), ROW - 6, colour))
        out.append(text(end + (4 if ratio >= 1 else -4), y + 12, figure(ratio, 2), 11, "start" if ratio >= 1 else "end", GREY))
    out.append(text(WIDTH - RIGHT, height - 12, "less is better; the scale is logarithmic", 11, "end", GREY))
    return "\n".join(out + ["</svg>"]) + "\n"
