/** A module that imports this can use the English texts that are not loaded from the start. */
import { later } from '@/locales/en/later'
import { registerMessages } from './i18n'

registerMessages(later)
