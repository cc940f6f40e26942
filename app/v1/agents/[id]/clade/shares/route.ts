import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.clades.listShares)
export const POST = route(app.clades.addShare)
