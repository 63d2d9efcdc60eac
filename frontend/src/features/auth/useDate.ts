import { moment } from '@/lib/format'
import { locale, useLang } from '@/lib/i18n'

/** Writes a time of the server, which is ISO 8601, for the person. */
export function useDate(): (time: string) => string {
  const lang = useLang()
  return time => moment(Date.parse(time) / 1000, locale(lang))
}
