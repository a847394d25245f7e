//! Tokens that somebody gives away: nobody gives more than they have.

use super::Access;
use crate::{
    config::Subject,
    identity::{Identity, Proof},
    refused::{Reason, Refused},
    tokens::{Book, NewToken, TokenError, TokenWish},
    who::Who,
};
use archive::{By, How, TokenRow, TokensError};

impl Access {
    /// Makes a token. Nobody gives more than they have, nor for longer than they have it.
    pub fn add_token(&self, maker: &Identity, wish: TokenWish, by: By) -> Result<NewToken, TokenError> {
        let now = by.at;
        let scope = Book::checked(&wish, now)?;
        let config = self.config();
        let who = Who { how: How::Token, name: wish.name.as_str().into() };
        let grants = config.grants.iter().filter(|grant| grant.to.contains(&Subject::Who(who.clone())));
        let more =
            std::iter::once(&scope).chain(grants.map(|grant| &grant.scope)).find(|scope| !maker.rights.contain(scope));
        if let Some(more) = more {
            let pvs: Vec<&str> = more.pvs.iter().map(|fits| fits.as_str()).collect();
            let message = format!(
                "{} would have the right {} on {}, which {} does not have to give",
                who,
                more.right,
                pvs.join(", "),
                maker.who
            );
            return Err(Refused::forbidden(more.right, Reason::Right, message).into());
        }
        let ends = match &maker.proof {
            Proof::Token(id) => self.tokens.with_id(id).map(|token| token.row.expires),
            _ => None,
        };
        if let Some(end) = ends.filter(|end| *end < wish.expires) {
            let message = format!("{} expires at {end}, and gives nothing for longer", maker.who);
            return Err(Refused::forbidden(wish.right, Reason::Right, message).into());
        }
        self.tokens.make(wish, by)
    }

    /// Forgets a token for good. Whether there was one of that id.
    pub fn revoke_token(&self, id: &str, by: &By) -> Result<bool, TokenError> {
        let was_there = self.tokens.revoke(id, by);
        self.changed();
        was_there
    }

    /// All tokens, the newest first.
    pub fn tokens(&self) -> Vec<TokenRow> {
        self.tokens.rows()
    }

    /// Reads the tokens anew, as they are kept: where others make and revoke them, too.
    pub fn read_tokens(&self) -> Result<(), TokensError> {
        self.tokens.read_anew()?;
        self.changed();
        Ok(())
    }

    /// Writes down on which days tokens were used. The caller runs it about once a minute.
    pub fn tend(&self) -> Result<(), TokensError> {
        self.tokens.keep_days()
    }
}
