//! Days, weeks and months.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};
use serde::Serialize;

/// How long a period of a report is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Period {
    Daily,
    /// A week begins on Monday (ISO 8601).
    Weekly,
    Monthly,
}

impl Period {
    /// Returns the period with this name: `daily`, `weekly` or `monthly`.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Daily, Self::Weekly, Self::Monthly].into_iter().find(|period| period.word() == name)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
        }
    }

    /// Returns the first day of the period that contains the day.
    pub fn start(self, day: Date) -> Date {
        match self {
            Self::Daily => day,
            Self::Weekly => day.saturating_sub(day.weekday().since(Weekday::Monday).days()),
            Self::Monthly => day.first_of_month(),
        }
    }

    /// Returns the first day of the earliest of a report's periods, which end with the one that contains the day: 30 days, 12
    /// weeks or 12 months.
    pub fn report_start(self, last: Date) -> Date {
        let earlier = match self {
            Self::Daily => 29.days(),
            Self::Weekly => 11.weeks(),
            Self::Monthly => 11.months(),
        };
        self.start(last).saturating_sub(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn week_begins_on_monday_and_month_on_its_first_day() {
        for (day, week, month) in [
            (date(2026, 11, 23), date(2026, 11, 23), date(2026, 11, 1)),
            (date(2026, 11, 29), date(2026, 11, 23), date(2026, 11, 1)),
            (date(2027, 1, 1), date(2026, 12, 28), date(2027, 1, 1)),
        ] {
            assert_eq!((Period::Weekly.start(day), Period::Monthly.start(day)), (week, month));
            assert_eq!(Period::Daily.start(day), day);
        }
    }

    #[test]
    fn report_has_30_days_12_weeks_or_12_months() {
        let day = date(2026, 11, 26);
        assert_eq!(Period::Daily.report_start(day), date(2026, 10, 28));
        assert_eq!(Period::Weekly.report_start(day), date(2026, 9, 7));
        assert_eq!(Period::Monthly.report_start(day), date(2025, 12, 1));
        assert_eq!(Period::Monthly.report_start(Date::MIN), Date::MIN);
    }

    #[test]
    fn other_names_are_no_period() {
        assert_eq!(Period::parse("weekly"), Some(Period::Weekly));
        assert!(["", "Daily", "yearly", "day"].iter().all(|name| Period::parse(name).is_none()));
    }
}
