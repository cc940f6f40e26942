import { app, route } from '#lib/app.ts'

export const GET = route(app.snapshots.downloadSnapshot)
