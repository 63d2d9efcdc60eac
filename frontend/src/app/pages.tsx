/** Every page: its addresses, what the middle pane shows, and the panels beside it. */
import { type LucideIcon, MessageCircle, SlidersHorizontal } from 'lucide-react'
import type { ComponentType, RefObject } from 'react'
import { matchRoute, type Parser } from 'wouter'
import { onDemand } from '@/components/onDemand'
import { PanePending } from '@/components/PanePending'
import { ChatPane } from '@/features/chat/ChatPane'
import { PLAYGROUND } from '@/features/retrieval/address'
import type { Key } from '@/lib/i18n'
import type { Width } from '@/lib/useMedia'
import type { PanelId } from './panels'

export interface PageProps {
  /** The conversation that the address names, and the message in it. */
  sessionId: string | null
  message: string | null
  /** The composer's text field. */
  input: RefObject<HTMLTextAreaElement | null>
  width: Width
}

export interface Page {
  id: string
  /** The patterns of its addresses. They may contain `:id`, a conversation, and `:message`. */
  routes: readonly string[]
  /** Its label in the bottom bar of narrow screens. */
  label: Key
  icon: LucideIcon
  /** The window's title; null for the title of the conversation. */
  title: Key | null
  /** The panels available in the right pane; the first is the default. */
  panels: readonly [PanelId, ...PanelId[]]
  /** Which of the stored widths the right pane uses. */
  side: 'right' | 'chunks'
  /** CSS classes that divide a wide screen between the middle and the right pane, if they differ from the default. */
  wide?: { middle: string; side: string }
  Page: ComponentType<PageProps>
}

export const CHAT: Page = {
  id: 'chat',
  routes: ['/', '/s/:id', '/s/:id/m/:message'],
  label: 'chat',
  icon: MessageCircle,
  title: null,
  panels: ['files'],
  side: 'right',
  // Already loaded, but rendered in a task of its own: rendering all three panes in one task would take too long.
  Page: onDemand(async () => ({ default: ChatPane }), PanePending),
}

export const PAGES: readonly Page[] = [
  CHAT,
  {
    id: 'playground',
    routes: [PLAYGROUND],
    label: 'playgroundShort',
    icon: SlidersHorizontal,
    title: 'playground',
    panels: ['chunks', 'files'],
    side: 'chunks',
    wide: { middle: 'min-w-[420px]', side: 'min-w-[300px]' },
    Page: onDemand<PageProps>(() => import('@/features/playground/Playground'), PanePending),
  },
]

export interface Place {
  page: Page
  /** The pattern that matched; null if no page has the address. */
  route: string | null
  sessionId: string | null
  message: string | null
}

/** Resolves an address to a page. An unknown address shows a new conversation. */
export function placeAt(path: string, parser: Parser): Place {
  for (const page of PAGES)
    for (const route of page.routes) {
      const [found, params] = matchRoute<{ id?: string; message?: string }>(parser, route, path)
      if (found) return { page, route, sessionId: params.id ?? null, message: params.message ?? null }
    }
  return { page: CHAT, route: null, sessionId: null, message: null }
}
