/** Messages between the tabs that show this origin. A browser without channels keeps each tab to itself. */
const CHANNEL = 'miniclaw'

/** `signed out`: the person has ended the session of this browser. `signed in`: it may be that of another person now. */
export type TabMessage = 'signed out' | 'signed in'

// One object for the whole tab: a channel does not deliver its own messages, so no tab hears itself.
let channel: BroadcastChannel | null = null
const opened = (): BroadcastChannel | null => {
  channel ??= typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(CHANNEL)
  return channel
}

export const tellTabs = (message: TabMessage): void => opened()?.postMessage(message)

/** Calls back with the messages of other tabs. Returns the function that unsubscribes. */
export function onTabMessage(listener: (message: TabMessage) => void): () => void {
  const heard = ({ data }: MessageEvent<TabMessage>) => listener(data)
  const from = opened()
  from?.addEventListener('message', heard)
  return () => from?.removeEventListener('message', heard)
}
