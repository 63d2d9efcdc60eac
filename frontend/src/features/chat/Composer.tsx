import { ArrowUp, Paperclip, Square } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, type RefObject, useLayoutEffect } from 'react'
import type { When } from '@/api/types'
import { keysOf } from '@/app/chords'
import { FilesButton } from '@/components/FilesButton'
import { Button } from '@/components/ui/Button'
import type { Attaching } from '@/features/attach/useAttaching'
import { useOffers } from '@/features/mcp/useOffers'
import { useT } from '@/lib/i18n'
import { useComposition } from '@/lib/ime'
import { useMedia, useScreenKeys } from '@/lib/useMedia'

const TALLEST = 220

export interface Blocked {
  reason: string
  /** An action that resolves it, if there is one here. */
  remedy?: { words: string; run: () => void }
}

interface Props {
  input: RefObject<HTMLTextAreaElement | null>
  text: string
  onText: (text: string) => void
  attaching: Attaching
  /** `now` interrupts the run under way. */
  onSend: (when: When) => void
  /** Calls wait for approval, and a message would deny them. */
  asked: boolean
  /** Edits the last message; null if there is none, or while something runs. */
  onEditLast: (() => void) | null
  /** Null while nothing runs. */
  onStop: (() => void) | null
  /** Why sending is disabled. */
  blocked: Blocked | null
  /** Shown at the lower left: the choice of model. */
  children?: ReactNode
}

export function Composer(props: Props) {
  const { input, text, onText, attaching, onSend, asked, onEditLast, onStop, blocked, children } = props
  const t = useT()
  const composition = useComposition()
  const touch = useMedia('(pointer: coarse), (max-width: 767px)')
  const screenKeys = useScreenKeys()
  const something = text.trim() !== '' || attaching.count > 0
  const ready = something && blocked === null

  useLayoutEffect(() => {
    const area = input.current
    if (!area) return
    // One row is the default height. Measuring would lay out the whole page right after it was mounted.
    if (text === '') {
      area.style.height = ''
      return
    }
    // Measuring collapses the field for a moment; the conversation above must not grow into that space and scroll.
    const around = area.parentElement
    if (around) around.style.height = `${around.offsetHeight}px`
    area.style.height = '0'
    area.style.height = `${Math.min(TALLEST, area.scrollHeight)}px`
    if (around) around.style.height = ''
  }, [input, text])

  const offers = useOffers({ input, text, onText, onFiles: attaching.onFiles })
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (!composition.owns(event) && offers.onKeyDown(event)) return
    const bare = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey
    if (event.key === 'ArrowUp' && bare && !something && onEditLast && !composition.owns(event)) {
      event.preventDefault()
      onEditLast()
    }
    // Alt+Enter is the shortcut of another command.
    if (event.key !== 'Enter' || event.shiftKey || event.altKey || composition.owns(event)) return
    if (bare && screenKeys) return
    event.preventDefault()
    if (ready) onSend(onStop && (event.ctrlKey || event.metaKey) ? 'now' : 'next')
  }
  const sendTitle = asked
    ? t('sendDenies')
    : onStop
      ? t('sendQueues', { keys: keysOf({ code: 'Enter', mod: true }).join(' ') })
      : t('send')
  const placeholder = `placeholder${asked ? 'Asked' : onStop ? 'Busy' : ''}${touch ? 'Short' : ''}` as const
  return (
    <form
      className="mx-auto w-full max-w-[784px] px-3 pb-3 max-md:px-2"
      onSubmit={event => {
        event.preventDefault()
        if (ready) onSend('next')
      }}
    >
      <div className="relative rounded-[18px] border bg-card p-2 shadow-(--shadow) transition-colors focus-within:border-accent">
        {offers.list}
        {attaching.chips}
        <textarea
          ref={input}
          rows={1}
          data-composer
          enterKeyHint={screenKeys ? 'enter' : 'send'}
          aria-label={t('message')}
          aria-describedby={blocked ? 'composer-blocked' : undefined}
          placeholder={t(placeholder)}
          value={text}
          onChange={event => onText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={event => attaching.onPaste(event.clipboardData) && event.preventDefault()}
          {...offers.attributes}
          {...composition.handlers}
          className="scroll block max-h-[38dvh] w-full resize-none bg-transparent px-2 py-1.5 text-(length:--reading) outline-none max-md:text-[16px] pointer-coarse:min-h-11 pointer-coarse:py-2 pointer-coarse:text-[16px]"
        />
        <div className="flex items-end gap-1.5 pt-1">
          <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-1.5">
            <FilesButton
              label={t('attachFiles')}
              icon={<Paperclip size={16} aria-hidden />}
              onFiles={attaching.onFiles}
            />
            {children}
          </div>
          {onStop && (
            <Button round onClick={onStop}>
              <Square size={11} fill="currentColor" aria-hidden />
              {t('stop')}
            </Button>
          )}
          {(onStop === null || something) && (
            <Button
              type="submit"
              look="solid"
              size="icon"
              round
              aria-label={t('send')}
              title={sendTitle}
              disabled={!ready}
            >
              <ArrowUp size={17} aria-hidden />
            </Button>
          )}
        </div>
      </div>
      {blocked && (
        <p id="composer-blocked" className="px-3 pt-1.5 text-fg-2 text-small">
          {blocked.reason}{' '}
          {blocked.remedy && (
            <button
              type="button"
              className="text-accent underline underline-offset-2"
              onClick={blocked.remedy.run}
            >
              {blocked.remedy.words}
            </button>
          )}
        </p>
      )}
    </form>
  )
}
