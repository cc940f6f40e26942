import { app, route } from '#lib/app.ts'

export const GET = route(app.projects.documents)
export const POST = route(app.projects.addDocument)
