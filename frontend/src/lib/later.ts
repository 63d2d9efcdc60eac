/** Whoever imports this can say the English words that are not there from the start. */
import { later } from '@/locales/en/later'
import { registerMessages } from './i18n'

registerMessages(later)
