from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
P=Presentation(); s=P.slides.add_slide(P.slide_layouts[5]); s.shapes.title.text='Sales'
cd=CategoryChartData(); cd.categories=['East','West']; cd.add_series('Q1',(19.2,21.4)); cd.add_series('Q2',(20,22))
c=s.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED,Inches(1),Inches(2),Inches(5),Inches(4),cd).chart
c.has_title=True; c.chart_title.text_frame.text='Sales by region'
s.notes_slide.notes_text_frame.text='Speaker says hi'
P.save('chart.pptx')
