import { useTranslations } from 'next-intl'
import { Tag, type TagTone } from '#components/ui/tag.tsx'
import type { OwnAgentRow } from './agents.ts'

const tones: Record<OwnAgentRow['state'], TagTone> = {
  active: 'accent',
  paused: 'amber',
  suspended: 'amber',
  erasing: 'red',
}

export function AgentState({ state }: { state: OwnAgentRow['state'] }) {
  const t = useTranslations('agents')
  return <Tag tone={tones[state]}>{t(`states.${state}.name`)}</Tag>
}
