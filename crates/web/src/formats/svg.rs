//! Samples as a drawing: an SVG with one line, the time to the right in seconds, values upwards.

use std::fmt::Write;

use super::gathered::GatheredNumbers;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 500.0;

/// The line of the numbers, in a frame that just holds it. What is not finite interrupts the line.
pub(crate) fn drawing(name: &str, gathered: &GatheredNumbers) -> String {
    let finite = || (0..gathered.times.len()).map(|row| gathered.number(row)).filter(|number| number.is_finite());
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| (low.min(n), high.max(n)));
    let (low, high) = if low > high { (0.0, 0.0) } else { (low, high) };
    let start = gathered.times.first().map_or(0, |time| time.nanos());
    let span = gathered.times.last().map_or(0, |time| time.nanos() - start) as f64;
    // A line that does not rise runs through the middle.
    let height = |number: f64| if high > low { (high - number) / (high - low) * HEIGHT } else { HEIGHT / 2.0 };
    let mut path = String::new();
    let mut is_drawing = false;
    for (row, time) in gathered.times.iter().enumerate() {
        let number = gathered.number(row);
        if !number.is_finite() {
            is_drawing = false;
            continue;
        }
        let right = if span > 0.0 { (time.nanos() - start) as f64 / span * WIDTH } else { 0.0 };
        let step = if std::mem::replace(&mut is_drawing, true) { 'L' } else { 'M' };
        write!(path, "{step} {right:.3} {:.3} ", height(number)).expect("a text takes every character");
    }
    let title = escaped(name);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}px\" height=\"{HEIGHT}px\">\n\
         <title>{title}: {low} to {high}</title>\n\
         <path fill=\"none\" stroke=\"red\" stroke-width=\"1.0\" d=\"{}\"/>\n</svg>\n",
        path.trim_end()
    )
}

/// A text as it may stand in XML. Control characters, which may not, are left out.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(character),
            control if control.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_a_level_line_can_be_drawn() {
        assert!(drawing("A<B", &GatheredNumbers::default()).contains("<title>A&lt;B: 0 to 0</title>"));
        assert_eq!(escaped("a\u{1}&\"\n"), "a&amp;&quot;\n");
    }
}
