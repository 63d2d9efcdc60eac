/**
 * How some parts of a text are shown where that differs from a conversation: in the preview of a note, whose links and pictures
 * are files of its project. Each returns undefined for what is shown as usual.
 */
import type { Token } from 'marked'
import { createContext, type ReactNode } from 'react'

export interface MarkdownParts {
  link: (href: string, children: ReactNode) => ReactNode | undefined
  image: (href: string, words: string) => ReactNode | undefined
  block: (token: Token) => ReactNode | undefined
}

export const Parts = createContext<MarkdownParts | null>(null)
