/** Every page: what the middle pane shows at which addresses, and what stands beside it. */
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
  /** The text field of the composer. */
  input: RefObject<HTMLTextAreaElement | null>
  width: Width
  onLeft: () => void
  onRight: () => void
}

export interface Page {
  id: string
  /** The patterns of its addresses. They may name `:id`, a conversation, and `:message`. */
  routes: readonly string[]
  /** Its name in the bar of narrow screens. */
  label: Key
  icon: LucideIcon
  /** The window's title; null for that of the conversation. */
  title: Key | null
  /** What may stand at its right; it begins with the first. */
  panels: readonly [PanelId, ...PanelId[]]
  /** Which of the stored widths the right pane has beside it. */
  side: 'right' | 'chunks'
  /** How the middle and the right pane share a wide screen, where that is not as elsewhere. */
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
  // It is there already, and yet made in a task of its own: all three panes in one go would be too long.
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
  /** The pattern that the address has; null for an address of no page. */
  route: string | null
  sessionId: string | null
  message: string | null
}

/** What an address shows. One that no page has is a new conversation. */
export function placeAt(path: string, parser: Parser): Place {
  for (const page of PAGES)
    for (const route of page.routes) {
      const [found, params] = matchRoute<{ id?: string; message?: string }>(parser, route, path)
      if (found) return { page, route, sessionId: params.id ?? null, message: params.message ?? null }
    }
  return { page: CHAT, route: null, sessionId: null, message: null }
}
