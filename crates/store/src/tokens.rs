//! Tokens as the archive keeps them: each change is one transaction of the catalogue.

use archive::{By, TokenRow, Tokens, TokensError};
use sample::Timestamp;

use crate::Writer;

impl Tokens for Writer {
    fn list(&self) -> Result<Vec<TokenRow>, TokensError> {
        Ok(self.engine.catalog.tokens()?)
    }

    fn add(&self, token: &TokenRow) -> Result<(), TokensError> {
        Ok(self.engine.change_catalog(|catalog| catalog.put_token(token))?)
    }

    fn revoke(&self, id: &str, by: &By) -> Result<bool, TokensError> {
        Ok(self.engine.change_catalog(|catalog| catalog.remove_token(id, by))?)
    }

    fn touch(&self, used: &[(Box<str>, Timestamp)]) -> Result<(), TokensError> {
        Ok(self.engine.change_catalog(|catalog| catalog.touch_tokens(used))?)
    }
}
