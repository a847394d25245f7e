//! Explain: why somebody may do something or not, with the line of the config that decides.

use std::fmt::Write;

use archive::{How, Right};

use crate::{
    access::{Access, rights},
    config::{Config, Subject},
    who::Who,
};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Who.
    pub who: Who,
    /// In which groups, as far as whoever asks knows.
    pub groups: Vec<Box<str>>,
    /// What is to be done.
    pub right: Right,
    /// To which PV, or to all of them.
    pub pv: Option<&'a str>,
    /// At a listener that allows so much.
    pub ceiling: Right,
    /// Whether whoever asks may know what is granted to others.
    pub tells_others: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Whether they may.
    pub is_allowed: bool,
    /// Why, a line for each thing that was looked at.
    pub text: String,
}

impl Access {
    /// Why somebody may do something, or why not.
    pub fn explain(&self, question: &Question) -> Explanation {
        let config = self.config();
        let token =
            self.tokens().into_iter().find(|row| question.who.how == How::Token && row.name == question.who.name);
        let own = token.and_then(|row| crate::config::patterns(&row.pvs).ok().map(|pvs| (row.right, pvs)));
        let own = own.map(|(right, pvs)| crate::rights::Scope { right, pvs });
        let rights = rights(&config, &question.who, &question.groups, own.clone(), question.ceiling);
        let is_allowed = match question.pv {
            Some(pv) => rights.may(question.right, pv),
            None => rights.may_all(question.right),
        };
        let mut text = head(question, is_allowed);
        if question.ceiling < question.right {
            let _ = writeln!(text, "  the listener allows {} and no more, to anybody", question.ceiling);
            return Explanation { is_allowed, text };
        }
        if let Some(own) = own {
            let is_enough = own.right >= question.right && fits(&own, question.pv);
            let _ = writeln!(text, "  the token itself gives {}: {}", own.right, verdict(is_enough));
        }
        tell_config(&mut text, &config, question);
        Explanation { is_allowed, text }
    }
}

fn head(question: &Question, is_allowed: bool) -> String {
    let Question { who, right, .. } = question;
    let to = question.pv.unwrap_or("all PVs");
    let groups = match question.groups.is_empty() {
        true => String::new(),
        false => format!(" (in {})", question.groups.join(", ")),
    };
    let may = if is_allowed { "may" } else { "may not" };
    format!("{who}{groups} {may} {right} {to}\n")
}

fn fits(scope: &crate::rights::Scope, pv: Option<&str>) -> bool {
    pv.map_or_else(|| scope.is_for_all(), |pv| scope.is_for(pv))
}

fn verdict(is_enough: bool) -> &'static str {
    if is_enough { "this decides" } else { "not enough" }
}

fn tell_config(text: &mut String, config: &Config, question: &Question) {
    let (of_all, to) = (config.anonymous.0, question.pv.unwrap_or("all PVs"));
    let anonymous = of_all.map_or("none", Right::name);
    let _ = writeln!(text, "  anonymous = {anonymous:?}: {}", verdict(of_all >= Some(question.right)));
    for (index, grant) in config.grants.iter().enumerate() {
        let is_theirs = |subject: &Subject| {
            subject.is(&question.who, &question.groups) || *subject == Subject::Who(Who::anonymous())
        };
        let (theirs, fits) = (grant.to.iter().any(is_theirs), fits(&grant.scope, question.pv));
        if !theirs && !question.tells_others {
            continue;
        }
        let said = match (theirs, grant.scope.right >= question.right, fits) {
            (true, true, true) => "this decides".to_owned(),
            (true, false, _) => format!("gives {} and not {}", grant.scope.right, question.right),
            (true, true, false) => format!("is not for {to}"),
            (false, true, true) => format!("would allow it, and is not for {}", question.who),
            (false, ..) => continue,
        };
        let _ = writeln!(text, "  [[access.grant]] number {} ({grant}): {said}", index + 1);
    }
}
