/** Notifications of the system about pending calls, which a person switches on in the settings. */
import { create } from 'zustand'
import type { Approval } from '@/api/types'
import { t } from '@/lib/i18n'
import { store, stored } from '@/lib/storage'
import { kindOf } from './kinds'

type State = 'off' | 'on' | 'blocked' | 'missing'

const NAME = 'notify'

function current(): State {
  if (typeof Notification === 'undefined' || !window.isSecureContext) return 'missing'
  if (Notification.permission === 'denied') return 'blocked'
  return stored(NAME) === 'yes' && Notification.permission === 'granted' ? 'on' : 'off'
}

export const useNotify = create<{ state: State }>(() => ({ state: current() }))

/** Browsers show the question for the permission only after an action of the person. */
export async function setNotify(on: boolean): Promise<void> {
  if (on) await Notification.requestPermission()
  store(NAME, on ? 'yes' : null)
  useNotify.setState({ state: current() })
}

/**
 * Tells about a call that waits. The text says what kind of call it is, and nothing that a model wrote: a notification
 * may be read on a locked screen.
 */
export function notify(approval: Approval, onOpen: () => void): Notification | null {
  if (current() !== 'on') return null
  const { shown, tool } = approval
  const { title } = kindOf({ ...approval, shown: { ...shown, path: null }, tool: knownTool(tool) }, t)
  const shownNow = new Notification(t('notifyTitle'), { body: title, tag: approval.id })
  shownNow.onclick = () => {
    window.focus()
    onOpen()
    shownNow.close()
  }
  return shownNow
}

/** A name of a tool may come from elsewhere; one that is not plain is not shown. */
const knownTool = (tool: string): string => (/^[a-z_]{1,40}$/.test(tool) ? tool : 'miniclaw')
