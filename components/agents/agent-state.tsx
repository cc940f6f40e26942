import { useTranslations } from 'next-intl'
import { Badge, type BadgeTone } from '#components/ui/badge.tsx'
import type { OwnAgentRow } from './agents.ts'
import { agentStatusTags } from './status-rules.ts'

const tones: Record<ReturnType<typeof agentStatusTags>[number], BadgeTone> = {
  active: 'progress',
  paused: 'warning',
  dead: 'neutral',
  restricted: 'warning',
  suspended: 'warning',
  erasing: 'progress',
}

/** The status that the owner set, followed by the legal state. */
export function AgentStateTag({ agent }: { agent: Pick<OwnAgentRow, 'status' | 'state' | 'restricted_at'> }) {
  const t = useTranslations('agents.states')
  return (
    <span className="inline-flex flex-wrap gap-1">
      {agentStatusTags(agent).map((one) => (
        <Badge key={one} tone={tones[one]} hasDot>
          {t(`${one}.name`)}
        </Badge>
      ))}
    </span>
  )
}
