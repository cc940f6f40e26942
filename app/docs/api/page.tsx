import type { Metadata } from 'next'
import { redirect } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Messages } from '#components/frame/words.tsx'
import { addressOfAnchor, matching } from '#components/reference/document.ts'
import { FilterField } from '#components/reference/filter-field.tsx'
import { GroupList } from '#components/reference/group-list.tsx'
import { OldAnchors } from '#components/reference/old-anchors.tsx'
import { OperationList } from '#components/reference/operation-list.tsx'
import { ProblemCodes } from '#components/reference/problem-codes.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { PlainLink, TextLink } from '#components/ui/text-link.tsx'
import { apiReference } from './reference.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('reference'))('name') })

interface ReferencePageProps {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}

export default async function ReferencePage({ searchParams }: ReferencePageProps) {
  const { q, anchor } = await searchParams
  const reference = apiReference()
  const moved = typeof anchor === 'string' ? addressOfAnchor(reference, anchor) : undefined
  if (moved) redirect(moved)
  const query = typeof q === 'string' ? q.slice(0, 200) : ''
  const t = await getTranslations('reference')
  const found = query ? matching(reference.operations, query) : []
  const { version, groups, operations } = reference
  return (
    <Page
      width="wide"
      title={t('name')}
      lead={
        <>
          <p>
            {t.rich('lead', {
              count: operations.length,
              version,
              document: (text) => <PlainLink href="/openapi.json">{text}</PlainLink>,
            })}
          </p>
          <p>{t('tokens')}</p>
        </>
      }
    >
      <OldAnchors />
      <Messages of={['reference']}>
        <FilterField />
      </Messages>
      <p role="status" className="text-quiet empty:hidden">
        {query && t('found', { count: found.length })}
      </p>
      {query ? (
        <>
          <OperationList operations={found} />
          <p>
            <TextLink href="/docs/api">{t('all')}</TextLink>
          </p>
        </>
      ) : (
        <>
          <GroupList groups={groups} />
          <Section id="problems" title={t('problems')} lead={t('problemsLead')}>
            <ProblemCodes />
          </Section>
        </>
      )}
    </Page>
  )
}
