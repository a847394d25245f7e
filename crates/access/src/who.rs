//! Who: the name of somebody with how it was established, as the audit and every answer write it.

use std::fmt;

use archive::How;

/// How names are established; whoever has none is anonymous.
const NAMED: [How; 6] = [How::Certificate, How::Token, How::Oidc, How::Ldap, How::Proxy, How::Socket];

/// Whether these are people, whom `user:` in a grant means.
pub(crate) fn is_user(how: How) -> bool {
    matches!(how, How::Oidc | How::Ldap | How::Proxy)
}

/// The longest name of somebody; that of a certificate or an OpenID provider may come from far away.
pub(crate) const NAME_BYTES_MAX: usize = 256;

/// Somebody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Who {
    /// How it was established.
    pub how: How,
    /// The name; empty if nobody knows.
    pub name: Box<str>,
}

impl Who {
    /// Whoever has shown nothing.
    pub fn anonymous() -> Who {
        Who { how: How::Anonymous, name: Box::default() }
    }

    /// A name and how it was established; none if it is empty, too long, or has characters that cannot be seen.
    pub fn new(how: How, name: &str) -> Option<Who> {
        let fits = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control);
        fits.then(|| Who { how, name: name.into() })
    }

    /// As it is displayed: `oidc:operator1`, `anonymous`.
    pub fn parse(text: &str) -> Option<Who> {
        if text == How::Anonymous.name() {
            return Some(Who::anonymous());
        }
        let (how, name) = text.split_once(':')?;
        let how = NAMED.into_iter().find(|named| named.name() == how)?;
        Who::new(how, name)
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.how {
            How::Anonymous => f.write_str(How::Anonymous.name()),
            how => write!(f, "{}:{}", how.name(), self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_comes_back_from_a_text_and_nobody_comes_of_a_wrong_one() {
        for text in ["anonymous", "oidc:operator1", "token:ingest", "local:0", "proxy:a b", "certificate:x:y", "ldap:ö"]
        {
            assert_eq!(Who::parse(text).map(|who| who.to_string()).as_deref(), Some(text));
        }
        let long = format!("oidc:{}", "x".repeat(NAME_BYTES_MAX + 1));
        for text in ["", "operator1", "oidc:", "user:a", "anonymous:", "oidc:a\nb", long.as_str()] {
            assert_eq!(Who::parse(text), None, "{text:?}");
        }
    }
}
