import { useTranslations } from 'next-intl'
import { Tag, type TagTone } from '#components/ui/tag.tsx'
import type { OwnAgentRow } from './agents.ts'
import { agentStatusTags } from './status-rules.ts'

const tones: Record<ReturnType<typeof agentStatusTags>[number], TagTone> = {
  active: 'accent',
  paused: 'amber',
  dead: 'plain',
  restricted: 'amber',
  suspended: 'amber',
  erasing: 'red',
}

/** The status that the owner set, followed by the legal state. */
export function AgentStateTag({ agent }: { agent: Pick<OwnAgentRow, 'status' | 'state' | 'restricted_at'> }) {
  const t = useTranslations('agents.states')
  return (
    <span className="inline-flex flex-wrap gap-1">
      {agentStatusTags(agent).map((one) => (
        <Tag key={one} tone={tones[one]}>
          {t(`${one}.name`)}
        </Tag>
      ))}
    </span>
  )
}
