//! The recipe that makes a small model usable with tools: it chooses a tool from a list, generates the arguments
//! under a grammar, and answers from a fresh prompt without tools. Each step is a short prompt with its own slot.

use crate::arguments;
use crate::chatml::Tokenizer;
use crate::error::ApiError;
use crate::fit::answer_prompt;
use crate::guard::LoopGuard;
use crate::lm::{EvaluatedPrompt, Lm, LmError, PromptProgress};
use crate::queue::{Choice, Event, Finish, Job, StepUsage};
use crate::request::{Format, Sampling, ToolChoice};
use crate::router::{self, RoutingContext};
use crate::sampling::Sampler;
use crate::slots::Purpose;
use crate::text::{Passed, StopFilter, Utf8Joiner};
use crate::turns::Conversation;
use llama_cpp_2::token::LlamaToken;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Maximum number of calls for one question.
const MAX_CALLS: usize = 3;
/// Maximum number of tokens of a call's arguments.
const MAX_ARGUMENT_TOKENS: usize = 768;
/// Time limit for generating one text.
const MAX_TIME: Duration = Duration::from_secs(600);
/// Sampling for arguments, which are copied from the question, not invented: greedy.
const GREEDY: Sampling = Sampling { temperature: 0.0, top_p: 1.0, seed: 0, repeat_penalty: 1.0 };

/// Why a request has no answer.
pub enum Failure {
    /// The client has disconnected; nobody can receive an error.
    ClientDisconnected,
    Error(ApiError),
}

impl From<LmError> for Failure {
    fn from(error: LmError) -> Self {
        match error {
            LmError::Stopped => Self::ClientDisconnected,
            other => Self::Error(ApiError::Internal(other.to_string())),
        }
    }
}

/// One request while the recipe processes it.
pub struct ChatPipeline<'r, 'm> {
    pub lm: &'r mut Lm<'m>,
    pub tokenizer: Tokenizer<'m>,
    pub job: &'r Job,
    steps: Vec<StepUsage>,
}

/// Returns the number of tokens reserved for the answer in a context of `limit` tokens.
pub fn answer_room(max_tokens: usize, limit: usize) -> usize {
    max_tokens.min(limit / 4)
}

impl<'r, 'm> ChatPipeline<'r, 'm> {
    pub fn new(lm: &'r mut Lm<'m>, tokenizer: Tokenizer<'m>, job: &'r Job) -> Self {
        Self { lm, tokenizer, job, steps: Vec::new() }
    }

    /// Answers the request. Sends all events except [`Event::Failed`].
    ///
    /// # Errors
    /// Returns [`Failure::ClientDisconnected`] if the client has disconnected, otherwise the error to send to it.
    pub fn run(mut self) -> Result<(), Failure> {
        let conversation = Conversation::new(&self.job.request.messages);
        if let Some(tool) = self.route(&conversation)?
            && let Some(arguments) = self.arguments(&conversation, tool)?
        {
            let name = self.job.request.tools[tool].name.clone();
            let forced = !matches!(self.job.request.tool_choice, ToolChoice::Auto);
            if forced || !conversation.last().already_called(&name, &arguments) {
                self.send(Event::Call { name, arguments })?;
                return self.done(Finish::ToolCalls);
            }
        }
        let finish = self.answer(&conversation)?;
        self.done(finish)
    }

    /// Returns the index of the tool to call, if any.
    fn route(&mut self, conversation: &Conversation) -> Result<Option<usize>, Failure> {
        let request = &self.job.request;
        let turn = conversation.last();
        let context = match request.tool_choice {
            ToolChoice::None => return Ok(None),
            ToolChoice::Only(index) => return Ok(Some(index)),
            ToolChoice::Required => RoutingContext::MustCall,
            ToolChoice::Auto if turn.results.len() >= MAX_CALLS || turn.question.trim().is_empty() => return Ok(None),
            ToolChoice::Auto if turn.results.is_empty() => router::routing_context(conversation),
            ToolChoice::Auto => RoutingContext::AfterResult,
        };
        let mut tokens = self.tokenizer.prompt(&router::prefix(&request.tools));
        tokens.extend(self.tokenizer.prompt(&router::question(conversation)));
        let mut prompt = self.evaluate("router", &tokens, Purpose::Router)?;
        let chosen = router::choose(self.lm, self.tokenizer, &mut prompt, (&request.tools, context))?;
        if let Some(step) = self.steps.last_mut() {
            let name = chosen.tool.map_or(router::NONE, |i| &request.tools[i].name);
            step.choice = Some(Choice { name: name.to_owned(), none_probability: chosen.none_probability });
            step.completion = chosen.tokens;
        }
        Ok(chosen.tool)
    }

    /// Returns the arguments of a call as compact JSON; None if the model did not finish the object.
    fn arguments(&mut self, conversation: &Conversation, tool: usize) -> Result<Option<String>, Failure> {
        let tool = &self.job.request.tools[tool];
        let question = router::strip_retrieved_passages(&conversation.last().question);
        let schema = arguments::reduce_schema(&tool.parameters, question);
        if schema["properties"].as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(Some("{}".into()));
        }
        let grammar = arguments::grammar(&schema).map_err(|e| Failure::Error(ApiError::Internal(e)))?;
        let tokens = self.tokenizer.prompt(&arguments::prompt(tool, &schema, conversation));
        let prompt = self.evaluate("arguments", &tokens, Purpose::Arguments)?;
        let sampler = Sampler::under_grammar(self.lm.model, &grammar, GREEDY)?;
        let mut text = String::new();
        let max = MAX_ARGUMENT_TOKENS.min(self.job.request.max_tokens.max(64));
        self.generate((prompt, sampler), max, &mut |piece| {
            text.push_str(piece);
            true
        })?;
        Ok(arguments::finished(&text))
    }

    /// Generates the answer.
    fn answer(&mut self, conversation: &Conversation) -> Result<Finish, Failure> {
        let request = &self.job.request;
        let room = self.lm.limit() - answer_room(request.max_tokens, self.lm.limit());
        let tokens = answer_prompt(self.tokenizer, conversation, room).map_err(Failure::Error)?;
        let prompt = self.evaluate("answer", &tokens, Purpose::Answer)?;
        let sampler = match &request.format {
            Format::Free => Sampler::free(self.lm.model, request.sampling),
            Format::Json(schema) => {
                let grammar = arguments::grammar(schema).map_err(|e| Failure::Error(ApiError::BadRequest(e)))?;
                Sampler::under_grammar(self.lm.model, &grammar, request.sampling)?
            }
        };
        let mut stops = StopFilter::new(request.stop.clone());
        let mut guard = LoopGuard::default();
        let job = self.job;
        let finish = self.generate((prompt, sampler), request.max_tokens, &mut |piece| {
            let (text, go_on) = match stops.push(piece) {
                Passed::More(text) => (text, true),
                Passed::Stopped(text) => (text, false),
            };
            let looped = guard.push(&text);
            let sent = text.is_empty() || job.send(Event::Text(text));
            sent && go_on && !looped
        })?;
        let rest = stops.finish();
        if !rest.is_empty() {
            self.send(Event::Text(rest))?;
        }
        Ok(finish)
    }

    /// Evaluates the prompt of a step and reports the progress to the client.
    fn evaluate(
        &mut self,
        step: &'static str,
        tokens: &[LlamaToken],
        purpose: Purpose,
    ) -> Result<EvaluatedPrompt, Failure> {
        let job = self.job;
        let mut watch = |p: PromptProgress| {
            let event = Event::PromptProgress {
                step,
                total: p.total,
                cached: p.cached,
                done: p.done,
                ms: p.elapsed.as_millis() as u64,
            };
            match job.send(event) && !job.is_disconnected() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        let prompt = match self.lm.evaluate(tokens, purpose, &mut watch) {
            Err(LmError::Full) => {
                let limit = self.lm.limit();
                return Err(Failure::Error(ApiError::TooLong { needed: tokens.len(), limit }));
            }
            other => other?,
        };
        self.steps.push(StepUsage { step, prompt: tokens.len(), cached: prompt.cached, completion: 0, choice: None });
        Ok(prompt)
    }

    /// Generates tokens until the model ends, `take` returns false, or `max` tokens are generated.
    fn generate(
        &mut self,
        from: (EvaluatedPrompt, Sampler),
        max: usize,
        take: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Finish, Failure> {
        let (mut prompt, mut sampler) = from;
        let start = Instant::now();
        let mut joiner = Utf8Joiner::default();
        let mut generated = 0;
        let finish = loop {
            if generated >= max || start.elapsed() > MAX_TIME {
                break Finish::Length;
            }
            if self.job.is_disconnected() {
                return Err(Failure::ClientDisconnected);
            }
            let token = sampler.next(self.lm, &prompt)?;
            generated += 1;
            let vocab = self.lm.model.vocab();
            if vocab.is_eog(token) {
                break Finish::Stop;
            }
            let piece = joiner.push(&vocab.token_to_piece(token, false, None));
            if !piece.is_empty() && !take(&piece) {
                break Finish::Stop;
            }
            match self.lm.append_token(&mut prompt, token) {
                Err(LmError::Full) => break Finish::Length,
                other => other?,
            }
        };
        if let Some(step) = self.steps.last_mut() {
            step.completion += generated;
        }
        Ok(finish)
    }

    fn send(&self, event: Event) -> Result<(), Failure> {
        match self.job.send(event) {
            true => Ok(()),
            false => Err(Failure::ClientDisconnected),
        }
    }

    fn done(self, finish: Finish) -> Result<(), Failure> {
        let steps = self.steps.clone();
        self.send(Event::Done { finish, steps })
    }
}
