//! XML, as far as configurations of archivers use it: elements, texts, attributes left out. Each with its line.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

/// What stands in a file, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The beginning of an element.
    Begin(String),
    /// The end of an element, with the text in it if it has no elements.
    End(String, String),
}

/// The marks of a text, each with its line, and where it stops being XML, with the reason.
pub type Marks = (Vec<(usize, Mark)>, Option<(usize, String)>);

/// Takes a text apart. Where it is not XML it ends with an error, as line and words.
pub fn marks(text: &str) -> Marks {
    let (mut marks, mut open, mut inside) = (Vec::new(), Vec::<String>::new(), String::new());
    let (mut rest, mut line) = (text, 1);
    let ended = |line, text: &str| Some((line, text.to_owned()));
    while !rest.is_empty() {
        let Some(begin) = rest.find('<') else { break };
        let (before, tag) = rest.split_at(begin);
        inside.push_str(before);
        line += lines(before);
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!DOCTYPE", ">"), ("<", ">")];
        let Some((opening, closing)) = skipped.into_iter().find(|(opening, _)| tag.starts_with(opening)) else { break };
        let body = tag.strip_prefix(opening).unwrap_or_default();
        // A description of the document may hold brackets with marks of its own.
        let closing = if opening == "<!DOCTYPE" && bracketed(body) { "]>" } else { closing };
        let Some(end) = body.find(closing) else { return (marks, ended(line, "something is not closed")) };
        let (body, after) = body.split_at(end);
        rest = after.strip_prefix(closing).unwrap_or_default();
        match opening {
            "<![CDATA[" => inside.push_str(body),
            "<" => match body.strip_prefix('/') {
                Some(name) => {
                    let name = name.trim().to_owned();
                    if open.pop().as_ref() != Some(&name) {
                        return (marks, ended(line, &format!("</{name}> closes what is not open")));
                    }
                    marks.push((line, Mark::End(name, unescaped(&std::mem::take(&mut inside)))));
                }
                None => {
                    let name = body.trim_end_matches('/').split_whitespace().next().unwrap_or_default().to_owned();
                    inside.clear();
                    marks.push((line, Mark::Begin(name.clone())));
                    match body.ends_with('/') {
                        true => marks.push((line, Mark::End(name, String::new()))),
                        false => open.push(name),
                    }
                }
            },
            _ => {}
        }
        line += lines(body);
    }
    let unclosed = open.pop().map(|name| (line, format!("<{name}> is not closed")));
    (marks, unclosed)
}

fn bracketed(body: &str) -> bool {
    let (bracket, end) = (body.find('['), body.find('>'));
    bracket.is_some_and(|bracket| end.is_none_or(|end| bracket < end))
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn unescaped(text: &str) -> String {
    let text = text.trim();
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.into_iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
}
