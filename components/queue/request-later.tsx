'use client'

import dynamic from 'next/dynamic'
import { laterPart } from '#components/ui/later-part.tsx'

const erasure = () => import('./request-erasure.tsx').then((parts) => parts.RequestErasure)
const correction = () => import('./correction-desk.tsx').then((parts) => parts.CorrectionDesk)
const parts = () => import('./request-parts.tsx').then(({ AdminRequestParts: Parts }) => Parts)
const connection = () => import('./request-connection.tsx').then((all) => all.RequestConnection)
const disconnection = () => import('./request-connection.tsx').then((all) => all.RequestDisconnection)

// The loader is written out again in each call, because Next finds the files to send with a page there.
export const RequestErasure = laterPart(
  dynamic(() => import('./request-erasure.tsx').then((parts) => parts.RequestErasure)),
  erasure,
)
export const CorrectionDesk = laterPart(
  dynamic(() => import('./correction-desk.tsx').then((parts) => parts.CorrectionDesk)),
  correction,
)
export const AdminRequestParts = laterPart(
  dynamic(() => import('./request-parts.tsx').then((parts) => parts.AdminRequestParts)),
  parts,
)
export const RequestConnection = laterPart(
  dynamic(() => import('./request-connection.tsx').then((parts) => parts.RequestConnection)),
  connection,
)
export const RequestDisconnection = laterPart(
  dynamic(() => import('./request-connection.tsx').then((parts) => parts.RequestDisconnection)),
  disconnection,
)

/** Loads the parts of a request, so that the page of a request appears whole. */
export const preloadRequest = () =>
  Promise.all(
    [RequestErasure, CorrectionDesk, AdminRequestParts, RequestConnection, RequestDisconnection].map((one) =>
      one.preload(),
    ),
  )
