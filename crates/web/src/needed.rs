//! What a request needs, by the rows of the table of URLs; and why somebody may do that or not, and which line of the config decides.

use access::{Access, Explanation, Question, Who};
use archive::{How, Right};

use crate::{
    method::Method,
    url::{Params, tidy},
};

/// A row of the table of URLs: method, path, and the right that it needs.
pub(crate) type Row = (Method, &'static str, Option<Right>);

/// What a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The right; none if anybody may.
    pub right: Option<Right>,
    /// The PVs that its URL names.
    pub pvs: Vec<String>,
}

impl Needed {
    /// By a method, or the name of a right, and a URL or the name of a PV.
    pub(crate) fn by(rows: impl Iterator<Item = Row>, method: &str, what: &str) -> Result<Needed, String> {
        let path = match what.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
            None => what,
        };
        if path.starts_with('/') {
            return by_url(rows, method, path);
        }
        let right = Right::from_name(&method.to_ascii_lowercase()).or(match method.to_ascii_uppercase().as_str() {
            "GET" | "HEAD" => Some(Right::Read),
            "POST" | "PUT" => Some(Right::Operate),
            "DELETE" => Some(Right::Administer),
            _ => None,
        });
        let right = right.ok_or_else(|| {
            format!("{method:?} is neither a method like GET or POST nor a right: read, operate, administer")
        })?;
        Ok(Needed { right: Some(right), pvs: vec![what.to_owned()] })
    }
}

fn by_url(rows: impl Iterator<Item = Row>, method: &str, url: &str) -> Result<Needed, String> {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let path = tidy(path).unwrap_or_else(|| path.to_owned());
    let wanted = Method::named(method)
        .ok_or_else(|| format!("{method:?} is no method that the archiver knows: GET, POST, PUT, DELETE"))?;
    let fits = |(method, row, _): &Row| *method == wanted && parts(row, &path).is_some();
    // A path without wildcards is meant before one with them.
    let row = rows.filter(fits).min_by_key(|(_, row, _)| row.matches('{').count());
    let Some((_, row, right)) = row else { return Err(format!("there is no {method} {path}")) };
    let of_path = parts(row, &path).unwrap_or_default().into_iter();
    let of_path = of_path.filter(|(name, _)| *name == "pv" || *name == "alias").map(|(_, value)| value);
    let given = Params::parse(query);
    let of_query = given.all("pv").flat_map(|pvs| pvs.split(',').map(str::to_owned).collect::<Vec<_>>());
    let mut pvs: Vec<String> = of_path.chain(of_query).collect();
    pvs.dedup();
    Ok(Needed { right, pvs })
}

/// What stands in a path where a row of the table has names; none if it does not fit.
fn parts<'r>(row: &'r str, path: &str) -> Option<Vec<(&'r str, String)>> {
    let (mut found, mut wanted, mut given) = (Vec::new(), row.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(found),
            (Some(part), Some(_)) if part.starts_with("{*") => return Some(found),
            (Some(part), Some(value)) => match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) if !value.is_empty() => {
                    let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned();
                    found.push((name, value));
                }
                None if part == value => {}
                _ => return None,
            },
            _ => return None,
        }
    }
}

/// Who is meant: `oidc:ana`, or a name alone, which is that of whoever logs in by the first way that the config has.
pub fn somebody(access: &Access, text: &str) -> Result<Who, String> {
    let config = access.config();
    let usual = match (&config.oidc, &config.ldap) {
        (Some(_), _) => How::Oidc,
        (None, Some(_)) => How::Ldap,
        (None, None) => How::Proxy,
    };
    let bare = text.strip_prefix("user:").unwrap_or(text);
    let who = Who::parse(text).or_else(|| Who::new(usual, bare).filter(|_| !bare.contains(':')));
    who.ok_or_else(|| {
        format!(
            "{text:?} is nobody, expected anonymous, or a name behind one of token: certificate: oidc: ldap: proxy: local:"
        )
    })
}

/// Why somebody may do what is needed, or why not, for each PV, at a listener that allows so much; and whether what is granted to others
/// is told.
pub fn explained(
    access: &Access,
    who: &Who,
    groups: &[Box<str>],
    needed: &Needed,
    (ceiling, tells_others): (Right, bool),
) -> Explanation {
    let Some(right) = needed.right else {
        return Explanation { is_allowed: true, text: format!("{who} may, as anybody may\n") };
    };
    let of = |pv: Option<&str>| {
        access.explain(&Question { who: who.clone(), groups: groups.to_vec(), right, pv, ceiling, tells_others })
    };
    if needed.pvs.is_empty() {
        return of(None);
    }
    let each: Vec<Explanation> = needed.pvs.iter().map(|pv| of(Some(pv))).collect();
    Explanation {
        is_allowed: each.iter().all(|explanation| explanation.is_allowed),
        text: each.into_iter().map(|explanation| explanation.text).collect(),
    }
}
