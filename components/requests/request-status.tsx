import { useTranslations } from 'next-intl'
import { Time } from '#components/ui/time.tsx'
import type { RequestView } from '#lib/domains/privacy-requests/contract.ts'
import { leadOf, type RequestSaying } from './request-rules.ts'

interface SaidProps {
  saying: RequestSaying
  request: Pick<RequestView, 'agent_id' | 'waiting_until' | 'paused'>
}
interface StatusTextProps extends SaidProps {
  /** The name of the agent that the request is about; by default its id. */
  agentName?: string | undefined
}

/** The state of a request in one sentence, the same on every page for its subject. */
export function RequestStatusText({ saying, request, agentName }: StatusTextProps) {
  const t = useTranslations('requests')
  const { waiting_until: until } = request
  return t.rich(`request.says.${saying}`, {
    agent: agentName ?? request.agent_id ?? t('about.agent'),
    time: () => (until === null ? '' : <Time at={until} relative />),
  })
}

/** The explanation below the sentence, if there is one. */
export function RequestStatusDetail({ saying, request, hasPassword = true }: SaidProps & { hasPassword?: boolean }) {
  const t = useTranslations('requests.request.leads')
  const lead = leadOf(saying)
  if (lead === undefined) return null
  if (lead !== 'paused') return <p>{t(lead === 'received' && !hasPassword ? 'receivedLink' : lead)}</p>
  const { paused } = request
  if (paused === null) return null
  return (
    <>
      <p>{t.rich('paused', { time: () => <Time at={paused.since} /> })}</p>
      <blockquote className="border-l-2 border-edge pl-3 whitespace-pre-wrap text-ink [overflow-wrap:anywhere]">
        {paused.reason}
      </blockquote>
    </>
  )
}
