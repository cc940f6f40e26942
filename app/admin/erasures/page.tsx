import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { stateNamed } from '#components/erasures/endpoints.ts'
import { ErasureList } from '#components/erasures/erasure-list.tsx'
import { Messages } from '#components/frame/words.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('erasures'))('name') })

interface Props {
  searchParams: Promise<Record<string, string | string[] | undefined>>
}
export default async function ErasuresPage({ searchParams }: Props) {
  await requirePageAccess('erasures')
  const asked = (await searchParams).state
  const state = stateNamed(typeof asked === 'string' ? asked : undefined)
  const initial = await callUseCase(app.requests.listErasures, { query: { ...(state && { state }), limit: '50' } })
  return (
    <Messages of={['erasures']}>
      <ErasureList initial={initial} state={state} />
    </Messages>
  )
}
