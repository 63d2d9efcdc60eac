//! What the person who runs a server does with its accounts while it is stopped: from the command line, in its home.

use std::path::Path;

use super::admin::temporary_password;
use super::new_opaque_id;
use super::passwords::Passwords;
use crate::clock;
use crate::config::edit::{CannotEdit, Edit, edited};
use crate::config::people::JWT_SECRET;
use crate::config::{Config, ConfigError, Environment, process_variables};
use crate::domain::account::NewAccount;
use crate::domain::account_fields::{Username, checked_email, checked_password};
use crate::domain::{Account, AccountBook, AccountId, AccountRefused, AccountRole, AuditEntry, AuditOutcome};
use crate::store::{
    AccountsUnusable, Home, MoveFromAccount, MoveToAccount, OwnedHome, ServerText, SettingsFile, StoreError,
    complete_move, config_text, is_link,
};

/// Why a command about accounts failed.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    #[error("the server is running: stop it first, or use its page")]
    Running,
    #[error("there is no account with this user name")]
    NoSuchName,
    #[error("a home can be given back only if there is exactly one account, and there are {0}")]
    NotOne(usize),
    #[error(
        "config.yml is a symbolic link: replace it by a file, or set auth_mode in the file that it points to yourself"
    )]
    ConfigIsLink,
    #[error("the home belongs to several people already (auth_mode: multi), or has accounts")]
    IsMulti,
    #[error(
        "a move of this home that something had stopped is complete now, and nothing else was done; `miniclaw people list` \
         shows the accounts"
    )]
    Completed,
    #[error("accounts.json is damaged ({0})")]
    Damaged(String),
    #[error(transparent)]
    Accounts(#[from] AccountsUnusable),
    #[error(transparent)]
    Refused(#[from] AccountRefused),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    CannotEdit(#[from] CannotEdit),
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for OfflineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Locked { .. } => Self::Running,
            error => Self::Store(error),
        }
    }
}

/// The first account of a server.
#[derive(Debug)]
pub struct FirstAccount<'a> {
    pub username: &'a str,
    pub email: Option<&'a str>,
    pub password: &'a str,
}

/// What an adoption has changed.
#[derive(Debug)]
pub struct Adopted {
    pub account: Account,
    /// Whether it made the key of sign-ins.
    pub made_secret: bool,
}

/// Makes the home of a single person that of the first account, an admin, and the server one of several people.
///
/// # Errors
/// Returns an error if a server runs, there are accounts, or a value is not allowed; nothing is changed then. If a step of the
/// move fails, the next start or command completes it.
pub async fn adopt(folder: &Path, first: FirstAccount<'_>) -> Result<Adopted, OfflineError> {
    let name = Username::parse(first.username)?;
    let email = first.email.map(checked_email).transpose()?;
    let password = checked_password(first.password, &name)?;
    let (texts, made_secret) = server_texts(folder)?;
    let home = settled(folder).await?;
    if !home.accounts()?.book.accounts.is_empty() {
        return Err(OfflineError::IsMulti);
    }
    let passwords = Passwords::new().await?;
    let turn = passwords.turn().await?;
    let id = AccountId::parse(&new_opaque_id()).ok_or(AccountRefused::Busy)?;
    let mut book = AccountBook::default();
    let new = NewAccount {
        id: id.clone(),
        username: name,
        email,
        password_hash: passwords.hash(&turn, &password).await?,
        role: AccountRole::Admin,
        now: clock::now(),
    };
    let account = book.add(new)?.clone();
    home.move_to_account(&MoveToAccount { account: id, book: &book, texts })?;
    Ok(Adopted { account, made_secret })
}

/// Returns how config.yml and `.env` change for several people, and whether the key of sign-ins is new.
fn server_texts(folder: &Path) -> Result<(Vec<ServerText>, bool), OfflineError> {
    let read = |name: &str| {
        let text = config_text(folder, name);
        text.map_err(|source| StoreError::Io { doing: format!("reading {name}"), source })
    };
    if ["config.yml", ".env"].into_iter().any(|name| is_link(folder, name)) {
        return Err(OfflineError::ConfigIsLink);
    }
    let before = read("config.yml")?;
    let environment = Environment::load(folder, process_variables())?;
    if Config::parse(before.as_deref(), &environment)?.people.is_multi() {
        return Err(OfflineError::IsMulti);
    }
    let multi = Edit::of_key("auth_mode", Some("multi".into()));
    let after = edited(before.as_deref().unwrap_or_default(), &[multi])?;
    let mut texts = vec![ServerText { name: "config.yml".to_owned(), before, after: Some(after.clone()) }];
    let has_secret = Config::parse(Some(&after), &environment).is_ok();
    if !has_secret {
        let (before, secret) = (read(".env")?, clock::new_secret());
        let with_secret = process_variables().chain([(JWT_SECRET.to_owned(), secret.clone())]);
        Config::parse(Some(&after), &Environment::load(folder, with_secret)?)?;
        let mut env = before.clone().unwrap_or_default();
        if !env.is_empty() && !env.ends_with('\n') {
            env.push('\n');
        }
        env.push_str(&format!("{JWT_SECRET}={secret}\n"));
        texts.push(ServerText { name: ".env".to_owned(), before, after: Some(env) });
    }
    Ok((texts, !has_secret))
}

/// Moves the home of the only account back, and makes the server one of a single person. Returns the name of the folder with
/// what only a server of several people has.
///
/// # Errors
/// Returns [`OfflineError::NotOne`] if there is not exactly one account; otherwise as [`adopt`].
pub async fn release(folder: &Path) -> Result<String, OfflineError> {
    if is_link(folder, "config.yml") {
        return Err(OfflineError::ConfigIsLink);
    }
    let config = config_text(folder, "config.yml");
    let config = config.map_err(|source| StoreError::Io { doing: "reading config.yml".to_owned(), source })?;
    let config = config.map(|text| edited(&text, &[Edit::of_key("auth_mode", None)])).transpose()?;
    let home = settled(folder).await?;
    let accounts = home.accounts()?.book.accounts;
    let [account] = &accounts[..] else { return Err(OfflineError::NotOne(accounts.len())) };
    let persons = folder.join("people").join(account.id.as_str());
    // Its lock is held, and so nothing else uses it.
    let _persons = if persons.is_dir() { Some(settled(&persons).await?) } else { None };
    let aside = format!("people-{}", clock::stamp());
    home.move_from_account(&MoveFromAccount { account: &account.id, aside: &aside, config })?;
    Ok(aside)
}

/// Completes a move that something had stopped, and returns whether there was one. To be called before anything is read: until
/// then, config.yml and the accounts may be those of before the move or of after it.
///
/// # Errors
/// Returns an error if a server or another command completes it now, or a step fails.
pub fn complete(folder: &Path) -> Result<bool, OfflineError> {
    Ok(complete_move(folder)?)
}

/// Opens a home and completes what a crash left open in it, so that nothing depends on where it is.
async fn settled(folder: &Path) -> Result<Home, OfflineError> {
    let home = Home::open(folder)?;
    OwnedHome::claim(home.clone()).await?;
    Ok(home)
}

/// Returns all accounts, oldest first. A server may be running.
///
/// # Errors
/// Returns an error if they cannot be read.
pub fn accounts(folder: &Path) -> Result<Vec<Account>, OfflineError> {
    let name = SettingsFile::Accounts.name();
    let text = config_text(folder, name);
    let text = text.map_err(|source| StoreError::Io { doing: format!("reading {name}"), source })?;
    let Some(text) = text else { return Ok(Vec::new()) };
    let book: AccountBook = serde_json::from_str(&text).map_err(|error| OfflineError::Damaged(error.to_string()))?;
    book.check().map_err(OfflineError::Damaged)?;
    Ok(book.accounts)
}

/// Gives an account a temporary password, which is returned. Ends all of its sign-ins and deletes its access tokens.
///
/// # Errors
/// Returns an error if a server runs or there is no such account.
pub async fn reset_password(folder: &Path, username: &str) -> Result<String, OfflineError> {
    let password = temporary_password();
    let passwords = Passwords::new().await?;
    let turn = passwords.turn().await?;
    let hash = passwords.hash(&turn, &password).await?;
    change(folder, (username, "password_reset"), move |account| account.set_password(hash)).await?;
    Ok(password)
}

/// Disables or enables an account. One that is enabled again has no sign-ins and no access tokens.
///
/// # Errors
/// Returns [`AccountRefused::LastAdmin`] if no active admin would be left, and an error if a server runs or there is no such
/// account.
pub async fn set_active(folder: &Path, username: &str, is_active: bool) -> Result<(), OfflineError> {
    change(folder, (username, "account_changed"), move |account| {
        account.is_active = is_active;
        account.end_all();
    })
    .await
}

/// Changes an account, and records it in the audit log. Without an actor and an address, it was the command line.
async fn change(
    folder: &Path,
    (username, event): (&str, &str),
    change: impl FnOnce(&mut Account),
) -> Result<(), OfflineError> {
    let home = Home::open(folder)?;
    let mut stored = home.accounts()?;
    let had_admin = stored.book.require_admin();
    let id = stored.book.named(username).map(|account| account.id.clone()).ok_or(OfflineError::NoSuchName)?;
    change(stored.book.account_mut(&id)?);
    if had_admin.is_ok() {
        stored.book.require_admin()?;
    }
    home.append_audit(&entry(event, stored.book.account_mut(&id)?))?;
    let (owned, _) = OwnedHome::claim(home).await?;
    owned.tree.save_accounts(owned.claim, stored.etag, &stored.book).await?;
    Ok(())
}

fn entry(event: &str, account: &Account) -> AuditEntry {
    let is_active = (event == "account_changed").then(|| ("is_active".to_owned(), account.is_active.into()));
    AuditEntry {
        id: clock::new_id(),
        at: clock::rfc3339(clock::now()),
        event: event.to_owned(),
        outcome: AuditOutcome::Done,
        reason: None,
        actor: None,
        actor_name: None,
        account: Some(account.id.to_string()),
        account_name: Some(account.username.clone()),
        address: None,
        detail: is_active.into_iter().collect(),
        unrecorded: 0,
    }
}
