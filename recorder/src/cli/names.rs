//! The name of a bundle that was given none.

use std::path::PathBuf;

use crate::clock::now_ns;

/// `incident-<host>-<time>.nmb`, time in UTC.
pub fn default_name() -> PathBuf {
    let host = crate::host::host(0).hostname;
    let host: String = host
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .collect();
    let secs = now_ns(rustix::time::ClockId::Realtime).div_euclid(1_000_000_000);
    format!("incident-{host}-{}.nmb", utc(secs)).into()
}

/// `20261121T120501Z`: days to a date of the Gregorian calendar by counting years from 1 March.
fn utc(secs: i64) -> String {
    let (days, rest) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (h, m, s) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{h:02}{m:02}{s:02}Z")
}
