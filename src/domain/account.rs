//! The accounts of a server that several people use: who they are, how they sign in, and who may join.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::account_fields::{MAX_AVATAR, MAX_TOKEN_NAME, MAX_USERNAME, PASSWORD, Username, folded};
use super::uid_range::UidRange;
use super::usage_limits::{UsageLimits, WrittenLimits, read_object};

/// Maximum number of access tokens of an account.
pub const MAX_TOKENS: usize = 50;
/// Maximum number of invitations that wait for somebody.
pub const MAX_INVITATIONS: usize = 200;
/// Number of ended sign-ins that an account remembers. If there are more, all sign-ins of the account end.
pub const MAX_ENDED: usize = 200;
/// How long a token counts after it has expired, in seconds: clocks differ.
pub const EXPIRY_SLACK: u64 = 60;

/// Names an account, and the home of its person in `people/`. Opaque: 1 to 64 of `a-z` and `0-9`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct AccountId(Arc<str>);

impl AccountId {
    /// Returns `None` for what is no id of an account, and for `owner`, which names the home of the server.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        ((1..=64).contains(&text.len()) && text.chars().all(fits) && text != "owner").then(|| Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AccountId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("an account's id has 1 to 64 of a-z and 0-9"))
    }
}

/// What a person may do besides using their own home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AccountRole {
    User,
    /// Manages the server and the accounts.
    Admin,
}

impl AccountRole {
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Admin => "admin",
        }
    }
}

/// A person's account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    pub id: AccountId,
    pub username: String,
    #[serde(default)]
    pub email: Option<String>,
    #[serde(default)]
    pub avatar: Option<String>,
    pub role: AccountRole,
    pub is_active: bool,
    /// Unix seconds.
    pub created_at: f64,
    /// Unix seconds.
    #[serde(default)]
    pub last_login_at: Option<f64>,
    /// The user and group of the system that this person's commands run as; no other account ever gets the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The limits that an admin has set for this person; those of the server count otherwise.
    #[serde(default, deserialize_with = "read_object", skip_serializing_if = "Option::is_none")]
    pub limits: Option<WrittenLimits>,
    /// The hash of the password in PHC format.
    pub password_hash: String,
    /// Sign-ins with a lower number are over.
    pub token_version: u64,
    /// Sign-ins that were ended before they expired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended_sign_ins: Vec<EndedSignIn>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub access_tokens: Vec<AccessToken>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// A sign-in that its person has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedSignIn {
    pub id: String,
    /// Unix second at which it would have expired.
    pub expires_at: u64,
}

/// A token with which programs use an account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccessToken {
    pub id: String,
    pub name: String,
    /// SHA-256 of the token, in hexadecimal.
    pub sha256: String,
    /// Unix seconds.
    pub created_at: f64,
    /// Unix seconds; `None` if it does not expire.
    #[serde(default)]
    pub expires_at: Option<f64>,
    #[serde(default)]
    pub scope: TokenScope,
}

/// What an access token can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenScope {
    /// Read what its person can read, and change nothing.
    Read,
    /// Use the OpenAI API (docs/openai.md), and nothing else.
    Ask,
    /// What `ask` can do, and call tools over MCP (docs/mcp-server.md).
    Tools,
    /// What its person can do in their own home.
    #[default]
    Full,
}

/// A code with which one person may make an account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Invitation {
    pub id: String,
    /// SHA-256 of the code, in hexadecimal.
    pub sha256: String,
    /// The admin who invites.
    pub created_by: AccountId,
    /// Unix seconds.
    pub created_at: f64,
    /// Unix seconds.
    pub expires_at: f64,
    /// The account that was made with it.
    #[serde(default)]
    pub used_by: Option<AccountId>,
}

/// All accounts and invitations: the content of `accounts.json`. A write keeps fields that this version does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AccountBook {
    pub accounts: Vec<Account>,
    #[serde(default)]
    pub invitations: Vec<Invitation>,
    /// The user ids that accounts have or had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allotted_uids: Vec<UidRange>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// A new account.
#[derive(Clone, Debug)]
pub struct NewAccount {
    pub id: AccountId,
    pub username: Username,
    pub email: Option<String>,
    pub password_hash: String,
    pub role: AccountRole,
    /// Unix seconds.
    pub now: f64,
}

impl AccountBook {
    /// Checks what a person who edits the file could get wrong.
    ///
    /// # Errors
    /// Returns a sentence that says which account is wrong.
    pub fn check(&self) -> Result<(), String> {
        let mut seen: [HashSet<String>; 2] = Default::default();
        for account in &self.accounts {
            let name = Username::parse(&account.username);
            let name = name.map_err(|error| format!("the account {}: {error}", account.id))?;
            let limits = account.limits.as_ref().map(WrittenLimits::parse).transpose();
            limits.map_err(|error| format!("the account {}: {error}", account.id))?;
            for (seen, mine) in seen.iter_mut().zip([account.id.to_string(), name.key()]) {
                if let Some(twice) = seen.replace(mine) {
                    return Err(format!("two accounts have the id or the user name {twice}"));
                }
            }
        }
        let mut uids = HashSet::new();
        for uid in self.accounts.iter().filter_map(|account| account.uid) {
            if !UidRange::is_allowed(uid) || !uids.insert(uid) {
                return Err(format!("the uid {uid} belongs to two accounts, or to the system"));
            }
        }
        Ok(())
    }

    /// Gives each account without a user id the lowest one of the range that no account ever had. Accounts keep the one that
    /// they have, whatever the range. Returns whether any got one; if the range is used up, the last accounts have none.
    pub fn allot_uids(&mut self, range: UidRange) -> bool {
        // Also those that a person who edited the file has set.
        self.accounts
            .iter()
            .filter_map(|account| account.uid)
            .for_each(|uid| UidRange::add(&mut self.allotted_uids, uid));
        let mut is_changed = false;
        for account in self.accounts.iter_mut().filter(|account| account.uid.is_none()) {
            let Some(uid) = range.lowest_outside(&self.allotted_uids) else { break };
            UidRange::add(&mut self.allotted_uids, uid);
            account.uid = Some(uid);
            is_changed = true;
        }
        is_changed
    }

    pub fn account(&self, id: &AccountId) -> Option<&Account> {
        self.accounts.iter().find(|account| account.id == *id)
    }

    /// # Errors
    /// Returns [`AccountRefused::Unknown`] if there is no such account.
    pub fn account_mut(&mut self, id: &AccountId) -> Result<&mut Account, AccountRefused> {
        self.accounts.iter_mut().find(|account| account.id == *id).ok_or(AccountRefused::Unknown)
    }

    /// Returns the account with a user name, however it is written.
    pub fn named(&self, username: &str) -> Option<&Account> {
        let key = folded(username);
        self.accounts.iter().find(|account| folded(&account.username) == key)
    }

    /// # Errors
    /// Returns [`AccountRefused::NameTaken`] or [`AccountRefused::EmailTaken`] if another account has the name or address.
    pub fn add(&mut self, new: NewAccount) -> Result<&Account, AccountRefused> {
        self.require_free(None, Some(&new.username), new.email.as_deref())?;
        self.accounts.push(Account {
            id: new.id,
            username: new.username.as_str().to_owned(),
            email: new.email,
            avatar: None,
            role: new.role,
            is_active: true,
            created_at: new.now,
            last_login_at: None,
            uid: None,
            limits: None,
            password_hash: new.password_hash,
            token_version: 1,
            ended_sign_ins: Vec::new(),
            access_tokens: Vec::new(),
            unknown: Map::new(),
        });
        self.accounts.last().ok_or(AccountRefused::Unknown)
    }

    /// Checks that no account other than `own` has this name or address.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn require_free(
        &self,
        own: Option<&AccountId>,
        username: Option<&Username>,
        email: Option<&str>,
    ) -> Result<(), AccountRefused> {
        let others = || self.accounts.iter().filter(|account| Some(&account.id) != own);
        if username.is_some_and(|name| others().any(|account| folded(&account.username) == name.key())) {
            return Err(AccountRefused::NameTaken);
        }
        let is_same = |account: &Account, email: &str| account.email.as_deref().map(folded) == Some(folded(email));
        if email.is_some_and(|email| others().any(|account| is_same(account, email))) {
            return Err(AccountRefused::EmailTaken);
        }
        Ok(())
    }

    /// Checks that an active admin is left.
    ///
    /// # Errors
    /// Returns [`AccountRefused::LastAdmin`] if there is none.
    pub fn require_admin(&self) -> Result<(), AccountRefused> {
        let is_admin = |account: &Account| account.role == AccountRole::Admin && account.is_active;
        if self.accounts.iter().any(is_admin) { Ok(()) } else { Err(AccountRefused::LastAdmin) }
    }

    /// Uses up the invitation with the hash of its code, for the account `id`.
    ///
    /// # Errors
    /// Returns [`AccountRefused::BadInvitation`] if there is none that is still valid.
    pub fn accept(&mut self, sha256: &str, (id, now): (&AccountId, f64)) -> Result<(), AccountRefused> {
        let is_it =
            |known: &&mut Invitation| known.sha256 == sha256 && known.expires_at > now && known.used_by.is_none();
        let found = self.invitations.iter_mut().find(is_it).ok_or(AccountRefused::BadInvitation)?;
        // It's the admin's word, which counts as long as they are one.
        let is_admin = |account: &Account| {
            account.id == found.created_by && account.role == AccountRole::Admin && account.is_active
        };
        if !self.accounts.iter().any(is_admin) {
            return Err(AccountRefused::BadInvitation);
        }
        found.used_by = Some(id.clone());
        Ok(())
    }
}

impl Account {
    /// Returns the limits that an admin has set for this person.
    pub fn admin_limits(&self) -> Option<UsageLimits> {
        self.limits.as_ref()?.parse().ok()
    }

    /// Ends every sign-in.
    pub fn end_sign_ins(&mut self) {
        self.token_version += 1;
        self.ended_sign_ins.clear();
    }

    /// Sets another password. Ends every sign-in and deletes all access tokens: somebody else may know the old one.
    pub fn set_password(&mut self, hash: String) {
        self.password_hash = hash;
        self.end_all();
    }

    /// Ends every sign-in and deletes all access tokens.
    pub fn end_all(&mut self) {
        self.access_tokens.clear();
        self.end_sign_ins();
    }

    /// Ends one sign-in. `now` is in Unix seconds.
    pub fn end_sign_in(&mut self, ended: EndedSignIn, now: f64) {
        let until = |known: &EndedSignIn| known.expires_at.saturating_add(EXPIRY_SLACK) as f64;
        self.ended_sign_ins.retain(|known| until(known) > now && known.id != ended.id);
        if self.ended_sign_ins.len() >= MAX_ENDED {
            self.end_sign_ins();
        } else {
            self.ended_sign_ins.push(ended);
        }
    }
}

/// Why something about an account was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountRefused {
    #[error(
        "a user name has 1 to {MAX_USERNAME} letters or digits of one script, and may contain . _ and - after the first one"
    )]
    BadUsername,
    #[error("this is no email address")]
    BadEmail,
    #[error("an avatar is a line of at most {MAX_AVATAR} bytes, such as an emoji or an address with http or https")]
    BadAvatar,
    #[error("a password has at least {} characters and at most {} bytes, and is not the user name", PASSWORD.0, PASSWORD.1)]
    BadPassword,
    #[error("the name of a token is a line of 1 to {MAX_TOKEN_NAME} characters")]
    BadTokenName,
    #[error("a token or an invitation expires after 1 to 3650 days")]
    BadExpiry,
    #[error("this user name is taken")]
    NameTaken,
    #[error("this email address belongs to another account")]
    EmailTaken,
    #[error("the user name or the password is wrong")]
    WrongPassword,
    #[error("the current password is wrong")]
    WrongCurrentPassword,
    #[error("this account is disabled; ask an admin of this server")]
    Disabled,
    #[error("this invitation was used already, has expired, or is wrong")]
    BadInvitation,
    #[error("an account on this server needs an invitation; ask an admin for one, and send its code as `invitation`")]
    InvitationNeeded,
    #[error("nobody can make an account on this server; ask an admin for one")]
    RegistrationClosed,
    #[error("the first account needs the code that the server printed at its start; send it as `setup_code`")]
    SetupCodeNeeded,
    #[error(
        "the proxy in front of this server names you as somebody who has no account here; ask an admin for an invitation"
    )]
    NoAccount,
    #[error("people sign in by the proxy in front of this server, so the user name is the one that they have there")]
    NameOfProxy,
    #[error("there is no such account, token or invitation")]
    Unknown,
    #[error("this is the last active admin; make somebody else an admin first")]
    LastAdmin,
    #[error(
        "an account has at most {MAX_TOKENS} tokens, and a server at most {MAX_INVITATIONS} invitations; remove one first"
    )]
    TooMany,
    #[error("too many failed attempts; try again in {0} s")]
    Wait(u64),
    #[error("too many people are signing in right now; try again in a moment")]
    Busy,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_a_folder_name_and_not_the_servers() {
        for bad in ["", "owner", "..", "a/b", "A", "a-b", "ä"] {
            assert_eq!(AccountId::parse(bad), None, "{bad}");
        }
        assert!(AccountId::parse("0a").is_some());
    }

    fn new(id: &str, username: &str) -> NewAccount {
        NewAccount {
            id: AccountId::parse(id).unwrap(),
            username: Username::parse(username).unwrap(),
            email: Some(format!("{id}@x")),
            password_hash: String::new(),
            role: AccountRole::Admin,
            now: 1.0,
        }
    }

    #[test]
    fn twins_and_taken_addresses_are_refused() {
        let mut book = AccountBook::default();
        book.add(new("a", "Ann")).unwrap();
        assert_eq!(book.add(new("b", "ＡＮＮ")).err(), Some(AccountRefused::NameTaken));
        let same_email = NewAccount { email: Some("A@X".to_owned()), ..new("b", "Bob") };
        assert_eq!(book.add(same_email).err(), Some(AccountRefused::EmailTaken));
        book.accounts.push(book.accounts[0].clone());
        assert!(book.check().is_err());
    }

    #[test]
    fn uid_is_allotted_once_and_never_again() {
        let range = |text: &str| text.parse::<UidRange>().unwrap();
        let uids = |book: &AccountBook| book.accounts.iter().map(|account| account.uid).collect::<Vec<_>>();
        let mut book = AccountBook::default();
        for id in ["a", "b", "c"] {
            book.add(NewAccount { email: None, ..new(id, id) }).unwrap();
        }
        assert!(book.allot_uids(range("2000-2001")));
        assert_eq!(uids(&book), [Some(2000), Some(2001), None], "the range is used up");
        assert!(!book.allot_uids(range("2000-2001")));
        book.accounts.remove(1);
        let mut book: AccountBook = serde_json::from_value(serde_json::to_value(&book).unwrap()).unwrap();
        assert!(!book.allot_uids(range("2000-2001")), "that of a deleted account is not free");
        assert!(book.allot_uids(range("1999-2010")));
        assert_eq!(uids(&book), [Some(2000), Some(1999)], "another range changes nothing that is there");
        book.add(NewAccount { email: None, ..new("d", "d") }).unwrap();
        book.allot_uids(range("1999-2010"));
        assert_eq!(uids(&book)[2], Some(2002));
        assert!(book.check().is_ok());
        for bad in [0, 999, 65_534, 2000] {
            book.accounts[1].uid = Some(bad);
            assert!(book.check().is_err(), "{bad}");
        }
    }

    #[test]
    fn invitation_is_accepted_once_and_in_time() {
        let invitation = |sha256: &str| Invitation {
            id: sha256.to_owned(),
            sha256: sha256.to_owned(),
            created_by: AccountId::parse("a").unwrap(),
            created_at: 0.0,
            expires_at: 10.0,
            used_by: None,
        };
        let invitations = vec![invitation("one"), invitation("two"), invitation("three")];
        let mut book = AccountBook { invitations, ..AccountBook::default() };
        book.add(NewAccount { role: AccountRole::Admin, ..new("a", "Ann") }).unwrap();
        let bob = AccountId::parse("b").unwrap();
        assert_eq!(book.accept("one", (&bob, 5.0)), Ok(()));
        assert_eq!(book.accept("one", (&bob, 5.0)), Err(AccountRefused::BadInvitation));
        assert_eq!(book.accept("two", (&bob, 10.0)), Err(AccountRefused::BadInvitation));
        book.accounts[0].role = AccountRole::User;
        assert_eq!(book.accept("three", (&bob, 5.0)), Err(AccountRefused::BadInvitation), "of a former admin");
    }

    #[test]
    fn remembered_ends_of_sign_ins_are_bounded() {
        let mut book = AccountBook::default();
        book.add(new("a", "Ann")).unwrap();
        let account = &mut book.accounts[0];
        for number in 0..=MAX_ENDED {
            account.end_sign_in(EndedSignIn { id: number.to_string(), expires_at: 100 }, 50.0);
        }
        assert_eq!((account.token_version, account.ended_sign_ins.len()), (2, 0), "all sign-ins are over");
        account.end_sign_in(EndedSignIn { id: "x".to_owned(), expires_at: 100 }, 50.0);
        account.end_sign_in(EndedSignIn { id: "y".to_owned(), expires_at: 200 }, 150.0);
        assert_eq!(account.ended_sign_ins.len(), 2, "it may count a little longer than it says");
        account.end_sign_in(EndedSignIn { id: "y".to_owned(), expires_at: 200 }, 161.0);
        assert_eq!(account.ended_sign_ins.len(), 1, "what has expired is forgotten");
    }
}
