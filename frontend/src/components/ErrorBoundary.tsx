import { Component, type ErrorInfo, type ReactNode } from 'react'
import { t } from '@/lib/i18n'
import { Button } from './ui/Button'
import { CopyButton } from './ui/CopyButton'

interface State {
  error: Error | null
  /** The component stack of the error. */
  componentStack: string
}

interface Props {
  /** Identifies the content: a change resets the error. */
  resetKey?: string | null
  children: ReactNode
}

/** An error boundary: an error in one pane neither breaks the other panes nor loses the text typed in them. */
export class ErrorBoundary extends Component<Props, State> {
  state: State = { error: null, componentStack: '' }

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  componentDidCatch(_error: unknown, info: ErrorInfo) {
    this.setState({ componentStack: info.componentStack ?? '' })
  }

  componentDidUpdate(before: Props) {
    if (this.state.error && before.resetKey !== this.props.resetKey) this.setState({ error: null })
  }

  render() {
    const { error, componentStack } = this.state
    if (!error) return this.props.children
    return (
      <div
        role="alert"
        className="pane flex h-full flex-col items-center justify-center gap-2 rounded-xl p-6"
      >
        <p className="text-center text-small [overflow-wrap:anywhere]">
          {t('paneBroke', { reason: error.message })}
        </p>
        <div className="flex items-center gap-2">
          <Button onClick={() => this.setState({ error: null })}>{t('showAgain')}</Button>
          <CopyButton
            label={t('copyDetails')}
            text={() => [error.stack ?? error.message, componentStack].join('\n')}
          />
        </div>
      </div>
    )
  }
}
