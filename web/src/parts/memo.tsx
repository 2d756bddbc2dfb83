import { Component, type ComponentChildren, type FunctionComponent } from "preact";

/** memo returns a component that is rendered again only if `equal` says that its properties have changed. */
export function memo<P extends object>(Inner: FunctionComponent<P>, equal: (a: P, b: P) => boolean): FunctionComponent<P & { key?: string }> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      return !equal(this.props as P, next as P);
    }

    override render(props: P): ComponentChildren {
      return <Inner {...props} />;
    }
  }
  return Memo as unknown as FunctionComponent<P & { key?: string }>;
}
