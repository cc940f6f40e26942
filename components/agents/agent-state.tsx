import { useTranslations } from 'next-intl'
import { Tag, type TagTone } from '#components/ui/tag.tsx'
import type { OwnAgentRow } from './agents.ts'
import { standingsOf } from './standing-rules.ts'

const tones: Record<ReturnType<typeof standingsOf>[number], TagTone> = {
  active: 'accent',
  paused: 'amber',
  dead: 'plain',
  restricted: 'amber',
  suspended: 'amber',
  erasing: 'red',
}

/** The status that the owner set, followed by the legal state. */
export function AgentState({ agent }: { agent: Pick<OwnAgentRow, 'status' | 'state' | 'restricted_at'> }) {
  const t = useTranslations('agents.states')
  return (
    <span className="inline-flex flex-wrap gap-1">
      {standingsOf(agent).map((one) => (
        <Tag key={one} tone={tones[one]}>
          {t(`${one}.name`)}
        </Tag>
      ))}
    </span>
  )
}
