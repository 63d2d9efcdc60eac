//! `weather`: the weather now and in the next days from Open-Meteo, which needs no key.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::fetch_url::{ApiClient, ApiError, ApiRequest};
use super::{
    EndRun, FetchConfig, OutsideText, Prepared, PreparedCall, RunOptions, Tool, ToolContext, line, prepared,
    whole_number,
};
use crate::domain::defang::defang;
use crate::domain::{Effect, EgressAttempts, Shown, Taint, ToolAnswer, ToolSpec};

const GEOCODING: &str = "https://geocoding-api.open-meteo.com/v1/search";
const FORECAST: &str = "https://api.open-meteo.com/v1/forecast";
const SOURCE: &str = "open-meteo.com";
const DAYS: usize = 3;
/// As many days as the service forecasts.
const MAX_DAYS: usize = 16;
/// Maximum characters of the name of a place.
const MAX_NAME: usize = 100;

/// The services that are asked.
#[derive(Clone, Debug)]
pub struct WeatherAddresses {
    pub geocoding: Url,
    pub forecast: Url,
}

impl WeatherAddresses {
    /// Returns the public addresses of Open-Meteo.
    ///
    /// # Errors
    /// Returns no error: the addresses are constant.
    pub fn open_meteo() -> Result<Self, url::ParseError> {
        Ok(Self { geocoding: Url::parse(GEOCODING)?, forecast: Url::parse(FORECAST)? })
    }
}

pub struct Weather {
    spec: ToolSpec,
    service: Arc<Service>,
}

struct Service {
    addresses: WeatherAddresses,
    client: ApiClient,
}

impl Weather {
    pub fn new(addresses: WeatherAddresses, fetch: FetchConfig) -> Self {
        let spec = ToolSpec {
            name: "weather".to_owned(),
            description: "The weather of a place now and in the next days: temperature, precipitation and wind."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "place": {"type": "string", "minLength": 1, "maxLength": MAX_NAME,
                        "description": "a city or a postal code, without the country"},
                    "days": {"type": "integer", "minimum": 1, "maximum": MAX_DAYS},
                },
                "required": ["place"],
            }),
            effect: Effect::Network,
        };
        Self { spec, service: Arc::new(Service { addresses, client: ApiClient::new(fetch) }) }
    }
}

#[derive(Deserialize)]
struct Arguments {
    place: String,
    #[serde(default, deserialize_with = "whole_number")]
    days: Option<usize>,
}

struct WeatherRequest {
    service: Arc<Service>,
    place: String,
    days: usize,
}

impl Tool for Weather {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let service = self.service.clone();
        let request = |Arguments { place, days }| WeatherRequest { service, place, days: days.unwrap_or(DAYS) };
        prepared("weather", arguments, request)
    }
}

impl PreparedCall for WeatherRequest {
    fn effect(&self) -> Effect {
        Effect::Network
    }

    fn shown(&self) -> Shown {
        let host = self.service.addresses.forecast.host_str().map(str::to_owned);
        Shown { network: true, host, ..line(&format!("weather: {}", self.place)) }
    }

    fn outside_text(&self) -> OutsideText {
        OutsideText::from_source(Some(Taint::Page(SOURCE.to_owned())))
    }

    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(async move {
            let cancelled = EndRun::Cancelled { text: String::new(), egress_attempts: EgressAttempts::default() };
            tokio::select! {
                answer = self.service.weather(&self.place, self.days) => Ok(answer.with_code(&self.place)),
                () = options.cancel.cancelled() => Err(cancelled),
            }
        })
    }
}

/// A place that the service knows.
#[derive(Deserialize)]
struct Found {
    name: String,
    #[serde(default)]
    admin1: Option<String>,
    #[serde(default)]
    country: Option<String>,
    latitude: f64,
    longitude: f64,
}

#[derive(Deserialize)]
struct FoundPlaces {
    #[serde(default)]
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Forecast {
    current: Current,
    daily: Daily,
}

/// In degrees Celsius, percent, millimetres and kilometres an hour.
#[derive(Deserialize)]
struct Current {
    time: String,
    temperature_2m: Option<f64>,
    apparent_temperature: Option<f64>,
    relative_humidity_2m: Option<f64>,
    precipitation: Option<f64>,
    weather_code: Option<u32>,
    wind_speed_10m: Option<f64>,
}

/// One entry of each list for a day, in the same units.
#[derive(Deserialize)]
struct Daily {
    time: Vec<String>,
    weather_code: Vec<Option<u32>>,
    temperature_2m_min: Vec<Option<f64>>,
    temperature_2m_max: Vec<Option<f64>>,
    precipitation_sum: Vec<Option<f64>>,
    precipitation_probability_max: Vec<Option<f64>>,
    wind_speed_10m_max: Vec<Option<f64>>,
}

const CURRENT: &str =
    "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,wind_speed_10m";
const DAILY: &str = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,precipitation_probability_max,\
                     wind_speed_10m_max";

impl Service {
    async fn weather(&self, place: &str, days: usize) -> ToolAnswer {
        let failed = |error: ApiError| ToolAnswer::failed(format!("no weather: {SOURCE}: {error}. Go on without it."));
        let found = match self.place(place).await {
            Ok(Some(found)) => found,
            Ok(None) => {
                return ToolAnswer::failed(format!(
                    "{SOURCE} knows no place \"{place}\". Give the name of a larger one."
                ));
            }
            Err(error) => return failed(error),
        };
        let forecast = match self.forecast(&found, days).await {
            Ok(forecast) => forecast,
            Err(error) => return failed(error),
        };
        let parts = [Some(&found.name), found.admin1.as_ref(), found.country.as_ref()];
        let name: Vec<String> = parts.into_iter().flatten().map(|part| short(part)).collect();
        let name = name.join(", ");
        let text = format!("{name} ({:.2}, {:.2})\n{}", found.latitude, found.longitude, lines(&forecast).join("\n"));
        let data = json!({"place": name, "latitude": found.latitude, "longitude": found.longitude, "source": SOURCE});
        ToolAnswer::done(format!("weather of {name}"), defang(&text).into_owned()).with_data(data)
    }

    async fn place(&self, place: &str) -> Result<Option<Found>, ApiError> {
        let mut url = self.addresses.geocoding.clone();
        url.query_pairs_mut().extend_pairs([("name", place), ("count", "1"), ("format", "json")]);
        let FoundPlaces { results } = self.answer(url).await?;
        Ok(results.into_iter().next())
    }

    async fn forecast(&self, place: &Found, days: usize) -> Result<Forecast, ApiError> {
        let mut url = self.addresses.forecast.clone();
        url.query_pairs_mut().extend_pairs([
            ("latitude", place.latitude.to_string().as_str()),
            ("longitude", place.longitude.to_string().as_str()),
            ("current", CURRENT),
            ("daily", DAILY),
            ("forecast_days", days.to_string().as_str()),
            ("timezone", "auto"),
        ]);
        self.answer(url).await
    }

    async fn answer<T: serde::de::DeserializeOwned>(&self, url: Url) -> Result<T, ApiError> {
        let fetched = self.client.send(ApiRequest::get(url, "application/json")).await?;
        match fetched.status.as_u16() {
            200 => serde_json::from_slice(&fetched.body).map_err(|_| ApiError::Answer),
            429 => Err(ApiError::TooMany),
            status => Err(ApiError::Status(status)),
        }
    }
}

fn short(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_NAME).collect()
}

fn lines(Forecast { current, daily }: &Forecast) -> Vec<String> {
    let value = |label: &str, value: Option<f64>, unit: &str| value.map(|value| format!("{label}{value}{unit}"));
    let now: Vec<String> = [
        current.weather_code.map(|code| words(code).to_owned()),
        value("", current.temperature_2m, " °C"),
        value("feels like ", current.apparent_temperature, " °C"),
        value("humidity ", current.relative_humidity_2m, " %"),
        value("precipitation ", current.precipitation, " mm"),
        value("wind ", current.wind_speed_10m, " km/h"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut lines = vec![format!("now ({}): {}", short(&current.time), now.join(", "))];
    let at = |list: &[Option<f64>], day: usize| list.get(day).copied().flatten();
    for (day, date) in daily.time.iter().enumerate().take(MAX_DAYS) {
        let parts: Vec<String> = [
            daily.weather_code.get(day).copied().flatten().map(|code| words(code).to_owned()),
            value("min ", at(&daily.temperature_2m_min, day), " °C"),
            value("max ", at(&daily.temperature_2m_max, day), " °C"),
            value("precipitation ", at(&daily.precipitation_sum, day), " mm"),
            value("probability ", at(&daily.precipitation_probability_max, day), " %"),
            value("wind up to ", at(&daily.wind_speed_10m_max, day), " km/h"),
        ]
        .into_iter()
        .flatten()
        .collect();
        lines.push(format!("{}: {}", short(date), parts.join(", ")));
    }
    lines
}

/// Returns what a code of the World Meteorological Organization means.
fn words(code: u32) -> &'static str {
    match code {
        0 => "clear",
        1 => "mainly clear",
        2 => "partly cloudy",
        3 => "overcast",
        45 | 48 => "fog",
        51..=57 => "drizzle",
        61..=67 => "rain",
        71..=77 => "snow",
        80..=82 => "rain showers",
        85 | 86 => "snow showers",
        95..=99 => "thunderstorm",
        _ => "unknown weather",
    }
}
