'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button, PlainButtonLink } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Time } from '#components/ui/time.tsx'
import { linkAt, type Snapshot } from './endpoints.ts'

/** Creates a link to the sealed file after explaining its use. */
export function LinkDialog({ snapshot, onClose }: { snapshot: Snapshot; onClose: () => void }) {
  const t = useTranslations('agentSnapshots.link')
  const common = useTranslations('common')
  const link = useApiMutation(linkAt, { isQuiet: true })
  const made = link.data?.data
  return (
    <Dialog
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={t('title')}
      lead={
        <>
          <p>{t('text')}</p>
          <p>{t('sealed')}</p>
        </>
      }
    >
      <div className="grid gap-4">
        {link.problem && <ProblemAlert problem={link.problem} />}
        {made ? (
          <>
            <p role="status">{t.rich('until', { time: () => <Time at={made.expires_at} relative /> })}</p>
            {/* A replayed response does not contain the address. */}
            {made.url && <CodeBlock code={made.url} what={t('address')} />}
            <DialogFooter>
              <Button tone="plain" onClick={onClose}>
                {common('close')}
              </Button>
              {made.url && (
                <PlainButtonLink href={made.url} download>
                  {t('download')}
                </PlainButtonLink>
              )}
            </DialogFooter>
          </>
        ) : (
          <DialogFooter>
            <Button tone="plain" onClick={onClose}>
              {common('cancel')}
            </Button>
            <Button
              aria-disabled={link.isPending}
              onClick={() => link.begin({ params: { id: snapshot.agent_id, snapshotId: snapshot.id } })}
            >
              {link.isPending ? common('busy') : t('make')}
            </Button>
          </DialogFooter>
        )}
      </div>
    </Dialog>
  )
}
