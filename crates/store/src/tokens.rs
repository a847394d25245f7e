//! Tokens as the archive keeps them: each change is one transaction of the catalogue.

use archive::{By, TokenRow, Tokens, TokensError};
use sample::Timestamp;

use crate::{Error, Writer, engine::Engine};

impl Engine {
    /// Changes the table of tokens, in turn with changes of the list of PVs.
    fn change_tokens<T>(&self, change: impl FnOnce(&Engine) -> Result<T, Error>) -> Result<T, Error> {
        let _registering = self.settled(|| self.registering.lock().expect("no holder of this lock panics"))?;
        self.refuse_if_closed()?;
        change(self)
    }
}

impl Tokens for Writer {
    fn list(&self) -> Result<Vec<TokenRow>, TokensError> {
        Ok(self.engine.catalog.tokens()?)
    }

    fn add(&self, token: &TokenRow) -> Result<(), TokensError> {
        Ok(self.engine.change_tokens(|engine| engine.catalog.put_token(token))?)
    }

    fn revoke(&self, id: &str, by: &By) -> Result<bool, TokensError> {
        Ok(self.engine.change_tokens(|engine| engine.catalog.remove_token(id, by))?)
    }

    fn touch(&self, used: &[(Box<str>, Timestamp)]) -> Result<(), TokensError> {
        Ok(self.engine.change_tokens(|engine| engine.catalog.touch_tokens(used))?)
    }
}
