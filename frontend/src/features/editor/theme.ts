import { HighlightStyle } from '@codemirror/language'
import { tags as tag } from '@lezer/highlight'

export const highlightStyle = HighlightStyle.define([
  { tag: tag.heading, fontWeight: '650', color: 'light-dark(#00508f, #7cc4ff)' },
  { tag: tag.strong, fontWeight: '650' },
  { tag: tag.emphasis, fontStyle: 'italic' },
  { tag: [tag.monospace, tag.string], color: 'light-dark(#a3231f, #ff9d94)' },
  { tag: [tag.keyword, tag.atom, tag.bool], color: 'light-dark(#8a1a9b, #e79bf5)' },
  { tag: [tag.propertyName, tag.definition(tag.propertyName)], color: 'light-dark(#00508f, #7cc4ff)' },
  { tag: [tag.comment, tag.meta, tag.processingInstruction], color: 'light-dark(#5d6a62, #9aa69e)' },
  { tag: [tag.link, tag.url], color: 'var(--accent)' },
  { tag: tag.number, color: 'light-dark(#1c50b8, #9db8ff)' },
])
