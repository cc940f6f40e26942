'use client'

import { Download } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Choice } from '#components/ui/field.tsx'
import { Space } from '#components/ui/punctuation.ts'
import { PlainLink } from '#components/ui/text-link.tsx'
import {
  correctSkillAt,
  correctUnitAt,
  eraseSkillAt,
  eraseUnitAt,
  fileNameOf,
  isSkillId,
  knowledgePaths,
  type RecordVisibility,
  recordDocument,
  recordPage,
  recordVisibilities,
} from './knowledge.ts'

interface RecordActionsProps {
  id: string
  etag: string
  isOwn: boolean
  visibility: RecordVisibility
  wasPublic: boolean
  /** Retention in days by visibility; null means forever. */
  periods: Record<RecordVisibility, number | null>
}

/** The actions for a unit or a skill. */
export function RecordActions(props: RecordActionsProps) {
  const { id, isOwn } = props
  const t = useTranslations('knowledge.unit')
  const [open, setOpen] = useState<'see' | 'erase'>()
  const close = () => setOpen(undefined)
  return (
    <div className="flex flex-wrap gap-2">
      {isOwn && (
        <>
          <ButtonLink href={`${recordPage(id)}?correct=1`} tone="plain">
            {t('correct')}
          </ButtonLink>
          <Button tone="plain" onClick={() => setOpen('see')}>
            {t('changeVisibility')}
          </Button>
        </>
      )}
      <PlainLink
        href={recordDocument(id)}
        download={fileNameOf(id)}
        className="inline-flex min-h-10 items-center gap-2 px-3"
      >
        <Download aria-hidden className="size-4" />
        {t('download')}
      </PlainLink>
      {isOwn && (
        <Button tone="danger" onClick={() => setOpen('erase')}>
          {t('erase')}
        </Button>
      )}
      {open === 'see' && <WhoSees {...props} onClose={close} />}
      {open === 'erase' && <Erasure {...props} onClose={close} />}
    </div>
  )
}

function WhoSees({ id, etag, visibility, wasPublic, periods, onClose }: RecordActionsProps & { onClose: () => void }) {
  const t = useTranslations('knowledge')
  const [chosen, setChosen] = useState<RecordVisibility>(visibility)
  const unit = useApiMutation(correctUnitAt, { touches: knowledgePaths })
  const skill = useApiMutation(correctSkillAt, { touches: knowledgePaths })
  const isSkill = isSkillId(id)
  const days = periods[chosen]
  const parts = { params: { id }, headers: { 'if-match': etag }, body: { visibility: chosen } }
  const order: readonly RecordVisibility[] = recordVisibilities
  const isWider = order.indexOf(chosen) > order.indexOf(visibility)
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onClose()}
      tone="main"
      title={t('see.title')}
      consequences={<p>{t('see.lead', { period: days === null ? t('see.forEver') : t('see.days', { days }) })}</p>}
      action={t('see.action')}
      change={isSkill ? skill : unit}
      isIncomplete={chosen === visibility}
      onConfirm={() => (isSkill ? skill.begin(parts, onClose) : unit.begin(parts, onClose))}
    >
      <Choice
        label={t('see.title')}
        isLabelHidden
        name="visibility"
        value={chosen}
        onChange={setChosen}
        options={recordVisibilities.map((value) => ({
          value,
          title: t(`visibility.${value}.name`),
          text: t(`visibility.${value}.text`),
        }))}
      />
      {isWider && <p>{t('see.wider')}</p>}
      {!isWider && chosen !== visibility && (visibility === 'network' || wasPublic) && <p>{t('see.narrower')}</p>}
    </Confirm>
  )
}

function Erasure({ id, visibility, wasPublic, onClose }: RecordActionsProps & { onClose: () => void }) {
  const t = useTranslations('knowledge.erase')
  const unit = useApiMutation(eraseUnitAt, { touches: knowledgePaths })
  const skill = useApiMutation(eraseSkillAt, { touches: knowledgePaths })
  const isSkill = isSkillId(id)
  const parts = { params: { id }, headers: { prefer: 'return=representation' } }
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('title')}
      consequences={
        <>
          <p>{t('goes')}</p>
          {(visibility === 'network' || wasPublic) && <p>{t('public')}</p>}
          <p>{t('stays')}</p>
        </>
      }
      action={t('action')}
      change={isSkill ? skill : unit}
      // Afterwards the page refreshes and shows that the record is erased, with the receipt.
      onConfirm={() => (isSkill ? skill.begin(parts, onClose) : unit.begin(parts, onClose))}
    >
      <p>
        {t('keep')}
        <Space />
        <PlainLink href={recordDocument(id)} download={fileNameOf(id)}>
          {t('download')}
        </PlainLink>
      </p>
    </Confirm>
  )
}
