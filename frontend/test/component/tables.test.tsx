import { act, fireEvent, render, renderHook, screen, waitFor, within } from '@testing-library/react'
import type { ReactNode } from 'react'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { useRouter } from 'wouter'
import { queryClient } from '@/api/queries'
import { Dialogs } from '@/app/Dialogs'
import { DIALOGS, type DialogName } from '@/app/dialogTable'
import { CHAT, PAGES, placeAt } from '@/app/pages'
import { PANELS } from '@/app/panels'
import { RightPanel, useRightPanel } from '@/app/RightPanel'
import { FolderTab } from '@/features/inspector/FolderTab'
import Inspector from '@/features/inspector/Inspector'
import { TABS } from '@/features/inspector/tabs'
import Settings from '@/features/settings/Settings'
import { sections } from '@/features/settings/sections'
import { t } from '@/lib/i18n'
import { ROOT_TRAITS, ROOTS } from '@/lib/roots'
import { type OpenDialog, useUi } from '@/stores/ui'
import { Page } from '../commands'

vi.stubGlobal('fetch', () => new Promise(() => {}))
afterEach(() => {
  queryClient.clear()
  useUi.setState({ dialog: null, tab: null, beside: 'chunks' })
})

const show = (children: ReactNode, sessionId: string | null = null) =>
  render(<Page sessionId={sessionId}>{children}</Page>)

describe('the table of dialogs', () => {
  it.each(Object.keys(DIALOGS) as DialogName[])('opens %s by its name alone', async name => {
    useUi.setState({ dialog: { name, work: 'w1' } as OpenDialog })
    show(<Dialogs />, 's1')
    const dialog = await screen.findByRole('dialog', {}, { timeout: 15_000 })
    expect(dialog.textContent).not.toBe('')
    fireEvent.keyDown(dialog, { key: 'Escape' })
    await waitFor(() => expect(useUi.getState().dialog).toBeNull())
    expect(screen.queryByRole('dialog')).toBeNull()
  })

  it('shows nothing for a dialog that needs a conversation if none is open', async () => {
    useUi.setState({ dialog: { name: 'compress' } })
    const { container } = show(<Dialogs />)
    await act(async () => {})
    expect(container.textContent).toBe('')
  })
})

describe('the table of pages', () => {
  const { parser } = renderHook(() => useRouter()).result.current
  const at = (path: string) => {
    const { page, sessionId, message } = placeAt(path, parser)
    return [page.id, sessionId, message]
  }

  it('resolves an address', () => {
    expect(at('/')).toEqual(['chat', null, null])
    expect(at('/s/a-1')).toEqual(['chat', 'a-1', null])
    expect(at('/s/a-1/m/m-2')).toEqual(['chat', 'a-1', 'm-2'])
    expect(at('/playground')).toEqual(['playground', null, null])
  })

  it('shows a new conversation at an unknown address', () => {
    for (const path of ['/f/memory/a.md', '/nowhere', '/s', '/playground/x'])
      expect(placeAt(path, parser)).toEqual({ page: CHAT, route: null, sessionId: null, message: null })
  })

  it('assigns every address to one page', () => {
    const routes = PAGES.flatMap(page => page.routes)
    expect(new Set(routes).size).toBe(routes.length)
    expect(new Set(PAGES.map(page => page.id)).size).toBe(PAGES.length)
  })
})

describe('the right pane', () => {
  const playground = PAGES.find(page => page.id === 'playground') ?? CHAT
  const panelOf = (page: typeof CHAT) => renderHook(() => useRightPanel(page)).result.current

  it('shows the chosen panel if the page offers it', () => {
    useUi.setState({ beside: 'chunks' })
    expect(panelOf(playground)).toMatchObject({ title: 'chunkPane', back: null })
    expect(panelOf(CHAT)).toMatchObject({ title: 'inspector', back: null })
    useUi.setState({ beside: 'files' })
    expect(panelOf(playground).Panel).toBe(PANELS.files.Panel)
  })

  it('leads back to the default panel of the page', () => {
    useUi.setState({ beside: 'files' })
    const panel = panelOf(playground)
    render(
      <RightPanel
        {...panel}
        Panel={({ back }) => (
          <button type="button" onClick={back?.run}>
            {back?.words}
          </button>
        )}
      />,
    )
    fireEvent.click(screen.getByRole('button', { name: t('backToChunks') }))
    expect(useUi.getState().beside).toBe('chunks')
  })
})

describe('the tabs of the inspector', () => {
  it('exist for each folder of the home, and for projects', () => {
    expect(TABS.map(tab => tab.id)).toEqual([...ROOTS.filter(root => ROOT_TRAITS[root].tab), 'project'])
  })

  it('show their own content, and the first for an unknown one', async () => {
    useUi.setState({ tab: 'no-such-tab' })
    show(<Inspector back={null} />)
    const selected = () => screen.getByRole('tab', { selected: true }).textContent
    expect(selected()).toBe(t('memory'))
    fireEvent.change(screen.getByRole('searchbox'), { target: { value: 'notes' } })
    fireEvent.mouseDown(screen.getByRole('tab', { name: t('skills') }))
    await waitFor(() => expect(useUi.getState().tab).toBe('skills'))
    expect(selected()).toBe(t('skills'))
    expect(screen.getByRole('button', { name: t('newSkill') })).toBeTruthy()
    expect((screen.getByRole('searchbox') as HTMLInputElement).value).toBe('')
  })
})

it('a root without uploads offers neither the button nor the drop target', async () => {
  const withFiles = { dataTransfer: { types: ['Files'] } }
  const dropTarget = (container: HTMLElement) => {
    const [target] = container.getElementsByClassName('relative flex min-h-0 flex-col')
    if (!target) throw new Error('the tab has no files')
    fireEvent.dragEnter(target, withFiles)
    return screen.queryByText(t('uploadHere', { name: t('memory') }))
  }
  const offered = show(<FolderTab root="memory" />)
  expect(screen.getByRole('button', { name: t('uploadFiles') })).toBeTruthy()
  expect(dropTarget(offered.container)).not.toBeNull()
  offered.unmount()
  const traits = ROOT_TRAITS.memory as { upload: boolean }
  traits.upload = false
  try {
    const refused = show(<FolderTab root="memory" />)
    expect(screen.getByRole('button', { name: t('newFile') })).toBeTruthy()
    expect(screen.queryByRole('button', { name: t('uploadFiles') })).toBeNull()
    expect(dropTarget(refused.container)).toBeNull()
  } finally {
    traits.upload = true
  }
})

it('a search in the settings leaves the sections that contain its words', () => {
  show(<Settings open onOpenChange={() => {}} />)
  const sought = (query: string) => {
    fireEvent.change(screen.getByRole('searchbox', { name: t('settingsSearch') }), {
      target: { value: query },
    })
    return screen
      .queryAllByRole('region')
      .map(section => within(section).getByRole('heading', { level: 3 }).textContent)
  }
  expect(sought('transparency')).toEqual([t('general')])
  expect(sought('EXPORT json')).toEqual([t('settingsData')])
  expect(sought('no such setting')).toEqual([])
  screen.getByText(t('nothingFound'))
  expect(sought('')).toHaveLength(sections(true).length)
})

it('a section of the settings is reached from the list of sections', () => {
  const scrolled = vi.fn()
  Element.prototype.scrollIntoView = scrolled
  show(<Settings open onOpenChange={() => {}} />)
  const list = screen.getByRole('navigation', { name: t('settingsSections') })
  fireEvent.click(within(list).getByRole('button', { name: t('settingsData') }))
  expect(document.activeElement?.textContent).toBe(t('settingsData'))
  expect(scrolled).toHaveBeenCalledTimes(1)
})

it('the settings show every section under its title', () => {
  show(<Settings open onOpenChange={() => {}} />)
  for (const { title } of sections(true)) {
    const section = screen.getByRole('region', { name: t(title) })
    expect(within(section).getByRole('heading', { level: 3 }).textContent).toBe(t(title))
    expect(section.textContent).not.toBe(t(title))
  }
})
