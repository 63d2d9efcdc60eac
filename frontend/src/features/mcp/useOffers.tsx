import { type KeyboardEvent, type ReactNode, type RefObject, useId, useRef, useState } from 'react'
import type { McpPrompt } from '@/api/types'
import { onDemand } from '@/components/onDemand'
import type { Offer, OfferKeys } from './OfferList'
import { fileNameOf, wantedAt } from './wanted'

const OfferList = onDemand(() => import('./OfferList'))
const PromptForm = onDemand(() => import('./PromptForm'))

interface Box {
  input: RefObject<HTMLTextAreaElement | null>
  text: string
  onText: (text: string) => void
  onFiles: (files: File[]) => void
}

interface Offers {
  /** Returns true if the key belongs to the list. */
  onKeyDown: (event: KeyboardEvent) => boolean
  /** For the message box while the list is open. */
  attributes: Record<string, string | boolean>
  list: ReactNode
}

const MOVES: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }

/** Completes `@server:resource` and `/server:prompt` in the message box. A resource becomes a file, a prompt the text. */
export function useOffers({ input, text, onText, onFiles }: Box): Offers {
  const id = useId()
  const keys = useRef<OfferKeys | null>(null)
  const [closed, setClosed] = useState<string | null>(null)
  const [active, setActive] = useState<string | null>(null)
  const [asked, setAsked] = useState<{ server: string; prompt: McpPrompt } | null>(null)
  const before = text.slice(0, input.current?.selectionStart ?? text.length)
  const wanted = closed === before ? null : wantedAt(before)
  // A bare slash or at sign is ordinary text until a name follows.
  const open = wanted !== null && (wanted.query !== null || wanted.server !== '')

  const put = (words: string) => {
    const from = wanted?.from ?? 0
    onText(text.slice(0, from) + words + text.slice(before.length))
    input.current?.focus()
  }
  const takePrompt = async (server: string, prompt: McpPrompt, values: Record<string, string>) => {
    const { promptText } = await import('./reading')
    const words = await promptText(server, prompt, values)
    if (words !== null) onText(words)
    input.current?.focus()
  }
  const onPick = (offer: Offer) => {
    if (offer.kind === 'server') return put(`${wanted?.kind === 'prompt' ? '/' : '@'}${offer.server}:`)
    if (offer.kind === 'prompt') {
      if (offer.prompt.arguments.length > 0) return setAsked(offer)
      return void takePrompt(offer.server, offer.prompt, {})
    }
    if (offer.isTemplate) {
      setClosed(null)
      return put(`@${offer.server}:${offer.uri}`)
    }
    put('')
    void import('./reading').then(async ({ resourceText }) => {
      const words = await resourceText(offer.server, offer.uri)
      const name = fileNameOf(offer.server, offer.uri)
      if (words !== null) onFiles([new File([words], name, { type: 'text/plain' })])
    })
  }
  const onKeyDown = (event: KeyboardEvent): boolean => {
    const withOthers = event.shiftKey || event.altKey || event.ctrlKey || event.metaKey
    if (!open || !keys.current || withOthers) return false
    const by = MOVES[event.key]
    if (by !== undefined) keys.current.move(by)
    else if (event.key === 'Escape') {
      event.stopPropagation()
      setClosed(before)
    } else if (!['Enter', 'Tab'].includes(event.key) || !keys.current.pick()) return false
    event.preventDefault()
    return true
  }
  const list = (
    <>
      {open && (
        <OfferList
          // Another list begins with its first entry.
          key={`${wanted.kind} ${wanted.server} ${wanted.query}`}
          id={id}
          wanted={wanted}
          keys={keys}
          onPick={onPick}
          onActive={setActive}
        />
      )}
      {asked && (
        <PromptForm
          prompt={asked.prompt}
          onClose={() => setAsked(null)}
          onUse={values => {
            setAsked(null)
            void takePrompt(asked.server, asked.prompt, values)
          }}
        />
      )}
    </>
  )
  const attributes: Record<string, string | boolean> =
    open && active
      ? { 'aria-controls': id, 'aria-activedescendant': active, 'aria-autocomplete': 'list' }
      : {}
  return { onKeyDown, attributes, list }
}
