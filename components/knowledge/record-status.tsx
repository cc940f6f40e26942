import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { agentPage } from '#components/agents/agents.ts'
import { FactList } from '#components/ui/facts.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { percent, recordKindOf, type SkillRecord, type UnitRecord } from './knowledge.ts'

/** A fact with its reason or consequence. */
const Why = ({ children, why }: { children: ReactNode; why: string }) => (
  <>
    {children}
    {why && <span className="block text-sm text-quiet">{why}</span>}
  </>
)

/** The state of a record: visibility, expiry, quality and owner. */
export function RecordStatus({ record, agentName }: { record: UnitRecord | SkillRecord; agentName: string | null }) {
  const t = useTranslations('knowledge.unit')
  const words = useTranslations('knowledge')
  const unit = 'unit' in record ? record : undefined
  const metadata = unit?.unit.metadata
  const { is_own: isOwn, visibility } = record
  return (
    <FactList
      facts={[
        [
          t('seenBy'),
          <Why
            key="seen"
            why={
              record.was_public && visibility !== 'network'
                ? t('wasPublic')
                : isOwn
                  ? words(`visibility.${visibility}.text`)
                  : ''
            }
          >
            {isOwn ? words(`visibility.${visibility}.name`) : words(`visibility.${visibility}.ofOther`)}
          </Why>,
        ],
        [
          t('keptUntil'),
          <Why key="kept" why={record.expires_at ? t('retentionWhy') : ''}>
            {record.expires_at ? <Time at={record.expires_at} relative /> : t('forEver')}
          </Why>,
        ],
        [t('quality'), t('qualityText', { percent: percent(record.quality_score) })],
        ...(unit
          ? [
              [
                t('votes'),
                Object.values(unit.votes).some((n) => n > 0) ? t('votesText', unit.votes) : t('votesNone'),
              ] as const,
            ]
          : []),
        [
          t('agent'),
          isOwn ? (
            <TextLink key="agent" href={agentPage(record.agent_id)}>
              <bdi>{agentName ?? record.agent_id}</bdi>
            </TextLink>
          ) : (
            <bdi key="agent">{record.agent_id}</bdi>
          ),
        ],
        ...(unit && unit.attributed_to.length > 0
          ? [
              [
                t('attributed'),
                <Why key="attributed" why={t('attributedWhy')}>
                  <bdi>{unit.attributed_to.join(', ')}</bdi>
                </Why>,
              ] as const,
            ]
          : []),
        [t('kind'), words(`kinds.${recordKindOf(record.id)}`)],
        ...(metadata
          ? ([
              [t('domain'), <bdi key="domain">{metadata.task_domain}</bdi>],
              ...(metadata.framework
                ? [[t('framework'), <bdi key="framework">{metadata.framework}</bdi>] as const]
                : []),
              [t('privacyLevel'), t(`privacyLevels.${metadata.privacy_level}`)],
            ] as const)
          : []),
        ...(unit && unit.unit['@type'] === 'ExpertSOP'
          ? [[t('wordings'), t('wordingsText', { count: unit.wordings })] as const]
          : []),
        [t('stored'), <Time key="stored" at={record.created_at} />],
        [t('changed'), <Time key="changed" at={record.updated_at} />],
        [t('id'), <ShortId key="id" id={record.id} what={t('id')} />],
      ]}
    />
  )
}
