import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.clades.readCard)
export const PUT = route(app.clades.publishCard)
export const DELETE = route(app.clades.withdrawCard)
