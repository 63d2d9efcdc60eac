import { useLocation, useRoute } from 'wouter'
import { useStatus } from '@/api/queries'
import { switchRag } from '@/app/threads'
import { PLAYGROUND, playgroundHref } from '@/features/retrieval/address'
import { exportSession } from '@/features/sessions/transfer'
import { setLang, useLang, useT } from '@/lib/i18n'
import { setTheme, type Theme } from '@/lib/theme'
import { type DialogName, showXray, useUi } from '@/stores/ui'
import type { Item } from './item'

const THEMES = [
  ['light', 'themeLight'],
  ['dark', 'themeDark'],
  ['system', 'themeSystem'],
] as const satisfies readonly (readonly [Theme, string])[]

const show = (dialog: DialogName) => () => useUi.setState({ dialog })

/** The commands that have no keys. */
export function useMore(): Item[] {
  const t = useT()
  const lang = useLang()
  const [, navigate] = useLocation()
  const [, params] = useRoute<{ id: string }>('/s/:id/*?')
  const rag = useStatus().data?.rag_mode
  const session = params?.id
  const play = (href: string) => () => {
    navigate(href)
    useUi.setState({ pane: 'chat' })
  }
  const command = (id: string, text: string, run: () => void): Item => ({
    ...{ id, text, run },
    group: 'commands',
    keys: [],
  })
  return [
    command('model', t('modelConnect'), show('model')),
    command('xray', t('xray'), () => showXray(null)),
    command('archive', t('archive'), show('archive')),
    command('playground', t('playground'), play(PLAYGROUND)),
    command('tests', t('retrievalTests'), play(playgroundHref({ tab: 'tests' }))),
    command('usage', t('usage'), show('usage')),
    ...(session
      ? [
          command('compress', t('compress'), show('compress')),
          command('export-md', t('exportMd'), () => exportSession(session, 'md')),
          command('export-json', t('exportJson'), () => exportSession(session, 'json')),
        ]
      : []),
    // Until the server has said how it is, nobody knows which way to switch it.
    ...(rag === undefined
      ? []
      : [command('rag', t(rag ? 'ragSwitchOff' : 'ragSwitchOn'), () => void switchRag(!rag))]),
    ...THEMES.map(([theme, word]) =>
      command(`theme-${theme}`, t('themeChoose', { name: t(word) }), () => setTheme(theme)),
    ),
    command('language', t('language'), () => void setLang(lang === 'zh' ? 'en' : 'zh')),
  ]
}
