import { MarkedText } from '@/components/MarkedText'
import { markTerms } from './markTerms'

/** A text with the words of the question highlighted. */
export const Marked = ({ text, terms }: { text: string; terms: readonly string[] }) => (
  <MarkedText stretches={markTerms(text, terms)} />
)
